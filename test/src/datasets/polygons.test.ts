/** Polygons as masks: what they paint, in windows at any extent, and what files of them say. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as E from 'fp-ts/Either'
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type ReadDatasetOptions, type TrainOptions, readDataset, train } from '../../../src'
import type { Mask } from '../../../src/datasets/masks/masks'
import { decodeAnnotationXml } from '../../../src/datasets/annotations/xml'
import { decodeGeoJson } from '../../../src/datasets/annotations/geojson'
import { type PolygonMap, countPainted, paintWindow, rankPolygon } from '../../../src/datasets/annotations/paint-polygons'
import { findSelfCrossing } from '../../../src/datasets/annotations/self-crossing'
import { must } from '../../must'
import { propertyRuns } from '../../property-runs'
import { writePng } from '../image-files'
import { noise, writeColours } from '../example-images'
import { type Corner, box, closed, collection, feature } from '../geojson'
import { failureOf, valueOf } from '../outcome'
import segmenting from '../segmenting-model'
import { temporaryFolder } from '../temporary-folder'
import { type Field, writeTiledTiff } from '../tiled-tiff'

const folder = temporaryFolder()
const at = (...names: readonly string[]): string => join(folder, ...names)
const [height, width] = [64, 48]

const ring = (corners: readonly Corner[]): Float64Array => Float64Array.from(corners.flat())

/** By the definition: edges left of the point that pass its height, odd of inside. */
const isInside = (corners: readonly Corner[], x: number, y: number): boolean => {
  let crossings = 0
  corners.forEach(([x0, y0], index) => {
    const [x1, y1] = corners[(index + 1) % corners.length]!
    if (y0 <= y === y1 <= y) return
    if (x0 + ((y - y0) * (x1 - x0)) / (y1 - y0) <= x) crossings += 1
  })
  return crossings % 2 === 1
}

interface Shape {
  readonly outer: readonly Corner[]
  readonly holes: readonly (readonly Corner[])[]
  readonly rank: number
}

const values = [3, 0, 255, 7]

const mapOf = (shapes: readonly Shape[]): PolygonMap => ({
  height,
  width,
  values,
  outside: 9,
  polygons: shapes.map(({ outer, holes, rank }) => rankPolygon({ outer: ring(outer), holes: holes.map(ring), place: '' }, rank))
})

/** Each pixel by its middle, of a map at an extent. */
const painted = (shapes: readonly Shape[], view: { readonly height: number; readonly width: number }): readonly number[] =>
  Array.from({ length: view.height * view.width }, (_, index) => {
    const [x, y] = [(((index % view.width) + 0.5) * width) / view.width, ((Math.floor(index / view.width) + 0.5) * height) / view.height]
    const ranks = shapes
      .filter(({ outer, holes }) => isInside(outer, x, y) && !holes.some((hole) => isInside(hole, x, y)))
      .map(({ rank }) => rank)
    return ranks.length === 0 ? 9 : values[Math.max(...ranks)]!
  })

// Quarters: corners on middles and on edges of pixels are drawn, and computed exactly.
const corner = fc
  .tuple(fc.integer({ min: -40, max: 4 * width + 40 }), fc.integer({ min: -40, max: 4 * height + 40 }))
  .map(([x, y]): Corner => [x / 4, y / 4])
const corners = fc.array(corner, { minLength: 3, maxLength: 7 })
const shape = fc.record({ outer: corners, holes: fc.array(corners, { maxLength: 2 }), rank: fc.integer({ min: 0, max: 3 }) })

test('every pixel has the class in which its middle lies, in every window', () => {
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 5 }), fc.nat(height - 1), fc.nat(width - 1), (shapes, top, left) => {
      const map = mapOf(shapes)
      const whole = paintWindow(map, map, { top: 0, left: 0, height, width })
      assert.equal([...whole], painted(shapes, map))
      const window = { top, left, height: Math.min(20, height - top), width: Math.min(30, width - left) }
      const rows = Array.from({ length: window.height }, (_, row) => [
        ...whole.subarray((top + row) * width + left, (top + row) * width + left + window.width)
      ])
      assert.equal([...paintWindow(map, map, window)], rows.flat())
      const counts = new Array<number>(256).fill(0)
      for (const value of whole) counts[value]! += 1
      assert.equal(countPainted(map), counts)
    }),
    propertyRuns(10)
  )
})

test('at another extent, the middle of each of its pixels counts', () => {
  fc.assert(
    fc.property(fc.array(shape, { maxLength: 4 }), (shapes) => {
      for (const view of [
        { height: height / 2, width: width / 2 },
        { height: 2 * height, width: 2 * width }
      ])
        assert.equal([...paintWindow(mapOf(shapes), view, { top: 0, left: 0, ...view })], painted(shapes, view))
    }),
    propertyRuns(5)
  )
})

test('polygons that share an edge share no pixel and leave none out', () => {
  const [a, b, c, d] = [
    [3.3, 4.1],
    [40.7, 9.9],
    [37.2, 55.5],
    [8.8, 50.3]
  ] as const satisfies readonly Corner[]
  const halves = [
    { outer: [a, b, c], holes: [], rank: 0 },
    { outer: [a, c, d], holes: [], rank: 1 }
  ]
  const [first, second] = halves.map((half) => countPainted(mapOf([half])))
  const both = countPainted(mapOf(halves))
  assert.equal([both[3], both[0]], [first![3], second![0]])
  assert.is(both[3]! + both[0]!, countPainted(mapOf([{ outer: [a, b, c, d], holes: [], rank: 0 }]))[3])
})

test('lines that cross are found, and those that touch are none', () => {
  const square: readonly Corner[] = [
    [0, 0],
    [10, 0],
    [10, 10],
    [0, 10]
  ]
  const bow: readonly Corner[] = [
    [0, 0],
    [10, 10],
    [10, 0],
    [0, 10]
  ]
  assert.is(findSelfCrossing([ring(square)]), undefined)
  assert.equal(findSelfCrossing([ring(bow)]), { x: 5, y: 5 })
  assert.is(findSelfCrossing([ring([...square, [5, 0]])]), undefined)
  assert.ok(findSelfCrossing([ring(square), ring(square.map(([x, y]) => [x + 5, y + 5]))]) !== undefined)
  assert.is(findSelfCrossing([ring(square), ring(square.map(([x, y]) => [3 + x / 4, 3 + y / 4]))]), undefined)
})

/** Seconds of processor time. */
const secondsOf = (run: () => void): number => {
  const before = process.cpuUsage()
  run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

test('jagged sides of many corners in a few rows and columns are looked at in seconds, and crossings there are found', () => {
  const side = 60_000
  const jagged = (from: number, step: number): readonly number[] => Array.from({ length: side }, (_, index) => from + step * (index >> 1))
  const notch = (index: number): number => ((index + 1) >> 1) % 2
  const upper = jagged(0, 2).map((x, index): Corner => [x, notch(index)])
  const right = jagged(2, 2).map((y, index): Corner => [side + 5 - notch(index), y])
  const lower: readonly Corner[] = [
    [side + 5, side + 5],
    [0, side + 5]
  ]
  const outline = [...upper, ...right, ...lower]
  assert.ok(secondsOf(() => assert.is(findSelfCrossing([ring(outline)]), undefined)) < 10)
  const crossed = outline.with(side / 2, [outline[side / 2]![0] - 3.5, 0.5])
  const { y } = findSelfCrossing([ring(crossed)])!
  assert.ok(y > 0 && y < 1)
})

/** Tumour with a hole, stroma over it, and what does not count. */
const drawn = [
  feature('stroma', box(20, 8, 44, 30)),
  feature('tumour', box(4, 4, 40, 40), box(8, 20, 16, 36)),
  feature('Ignore*', box(0, 0, 48, 2))
]

const asap = (...annotations: readonly (readonly [group: string, corners: readonly Corner[], type?: string])[]): string =>
  `<?xml version="1.0"?>\n<ASAP_Annotations>\n<Annotations>\n${annotations
    .map(
      ([group, corners, type = 'Polygon']) =>
        `<Annotation Name="one" Type="${type}" PartOfGroup="${group}" Color="#F4FA58">\n<Coordinates>\n${corners
          // In no order: Order says it.
          .map(([x, y], index) => `<Coordinate Order="${index}" X="${x}" Y="${y}" />`)
          .reverse()
          .join('\n')}\n</Coordinates>\n</Annotation>`
    )
    .join('\n')}\n</Annotations>\n<AnnotationGroups />\n</ASAP_Annotations>\n`

const imageScope = `<Annotations MicronsPerPixel="0.5">
  <Annotation Id="1" Name="stroma"><Attributes/><Regions>
    <Region Id="1" Type="0" NegativeROA="0"><Vertices>${box(20, 8, 44, 30)
      .map(([x, y]) => `<Vertex X="${x}" Y="${y}" Z="0"/>`)
      .join('')}</Vertices></Region>
  </Regions></Annotation>
  <Annotation Id="2" Name="tumour"><Regions>
    <Region Id="2" Type="0" NegativeROA="0"><Vertices>${box(4, 4, 40, 40)
      .map(([x, y]) => `<Vertex X="${x}" Y="${y}"/>`)
      .join('')}</Vertices></Region>
    <Region Id="3" Type="0" NegativeROA="1"><Vertices>${box(8, 20, 16, 36)
      .map(([x, y]) => `<Vertex X="${x}" Y="${y}"/>`)
      .join('')}</Vertices></Region>
    <Region Id="4" Type="3" NegativeROA="0"><Vertices><Vertex X="1" Y="1"/><Vertex X="9" Y="9"/></Vertices></Region>
  </Regions></Annotation>
</Annotations>`

const cornersOf = (decoded: ReturnType<typeof decodeGeoJson>) =>
  E.isLeft(decoded)
    ? decoded.left
    : decoded.right.map(({ className, outer, holes }) => [className, [...outer], holes.map((hole) => [...hole])])

test('the same polygons from GeoJSON, ASAP and ImageScope', () => {
  const wanted = [
    ['stroma', box(20, 8, 44, 30).flat(), []],
    ['tumour', box(4, 4, 40, 40).flat(), [box(8, 20, 16, 36).flat()]]
  ]
  assert.equal(cornersOf(decodeGeoJson(collection(...drawn.slice(0, 2)))), wanted)
  assert.equal(cornersOf(decodeGeoJson(JSON.stringify(drawn.slice(0, 2)))), wanted)
  assert.equal(cornersOf(decodeAnnotationXml(imageScope)), wanted)
  assert.equal(
    cornersOf(
      decodeAnnotationXml(asap(['stroma', box(20, 8, 44, 30)], ['tumour &amp; rim', closed(box(4, 4, 40, 40))], ['x', [[1, 1]], 'Dot']))
    ),
    [wanted[0], ['tumour & rim', box(4, 4, 40, 40).flat(), []]]
  )
  const parts = { type: 'MultiPolygon', coordinates: [[closed(box(0, 0, 2, 2))], [closed(box(4, 4, 6, 6))]] }
  assert.equal(cornersOf(decodeGeoJson(JSON.stringify({ type: 'Feature', geometry: parts, properties: { classification: null } }))), [
    [undefined, box(0, 0, 2, 2).flat(), []],
    [undefined, box(4, 4, 6, 6).flat(), []]
  ])
  // As QuPath writes a class that is derived of another, from 0.4 on (its pull request 1099).
  const derived = { ...drawn[0]!, properties: { classification: { names: ['Tumor', 'Positive'], color: [200, 0, 0] } } }
  assert.equal(cornersOf(decodeGeoJson(collection(derived))), [['Tumor: Positive', ...wanted[0]!.slice(1)]])
  assert.equal(
    cornersOf(decodeGeoJson(collection({ type: 'Feature', geometry: { type: 'Point', coordinates: [1, 2] }, properties: {} }))),
    []
  )
  assert.equal(cornersOf(decodeGeoJson(collection({ type: 'Feature', geometry: null, properties: {} }))), [])
  assert.equal(cornersOf(decodeGeoJson(JSON.stringify({ type: 'FeatureCollection', crs: null, features: [] }))), [])
})

const pixels = noise(height * width * 3, 3)

test.before(async () => {
  await writeColours(at('image.png'), pixels, { height, width })
  writeTiledTiff(
    at('slide.tif'),
    [
      { height, width, pixels },
      { height: height / 2, width: width / 2, pixels: pixels.subarray(0, pixels.length / 4) }
    ],
    { tile: 16, channels: 3 }
  )
  writeFileSync(at('drawn.geojson'), collection(...drawn))
  writeFileSync(at('drawn.xml'), imageScope)
})

const read = async (mask: string, options: ReadDatasetOptions = {}) => {
  writeFileSync(at('data.csv'), `path,mask\nimage.png,${mask}\n`)
  return readDataset(at('data.csv'), '--data', options)
}
const countsOf = async (mask: string, options: ReadDatasetOptions = {}): Promise<Readonly<Record<number, number>>> => {
  const { examples } = await valueOf(await read(mask, options))
  const { counts } = examples[0]!.label as Mask
  return Object.fromEntries(counts.flatMap((count, value) => (count > 0 ? [[value, count]] : [])))
}

test('a region of ImageScope has the holes near it, of a layer of many', () => {
  const [across, corners] = [40, 60]
  const places = Array.from({ length: 8 * across }, (_, index): Corner => [
    50 + 100 * (index % across),
    50 + 100 * Math.floor(index / across)
  ])
  const region = ([x, y]: Corner, radius: number, isHole: boolean): string =>
    `<Region Type="0" NegativeROA="${isHole ? 1 : 0}"><Vertices>${Array.from({ length: corners }, (_, corner) => {
      const angle = (2 * Math.PI * corner) / corners
      return `<Vertex X="${x + radius * Math.cos(angle)}" Y="${y + radius * Math.sin(angle)}"/>`
    }).join('')}</Vertices></Region>`
  const regions = places.flatMap((place) => [region(place, 40, false), region(place, 9, true)])
  const decoded = decodeAnnotationXml(`<Annotations><Annotation Name="t"><Regions>${regions.join('')}</Regions></Annotation></Annotations>`)
  assert.ok(E.isRight(decoded))
  assert.equal([decoded.right.length, new Set(decoded.right.map(({ holes }) => holes.length))], [places.length, new Set([1])])
})

test('a class of QuPath is told by its names or its name, and none by an empty one', () => {
  const classOf = (classification: unknown): string | undefined => {
    const ring = [...box(0, 0, 9, 9), [0, 0]]
    const decoded = decodeGeoJson(
      JSON.stringify({ type: 'Feature', geometry: { type: 'Polygon', coordinates: [ring] }, properties: { classification } })
    )
    return must(decoded)[0]!.className
  }
  for (const [classification, wanted] of [
    [{ name: 'a' }, 'a'],
    [{ name: 'a', names: null }, 'a'],
    [{ name: 'a', names: ['a', 'b'] }, 'a: b'],
    ['a', 'a'],
    [{ name: '' }, undefined],
    [{ names: [] }, undefined],
    [null, undefined]
  ] as const)
    assert.is(classOf(classification), wanted)
})

test('names are classes in the order of a list, or sorted; later ones cover; what is in no polygon', async () => {
  const [all, tumour, stroma, both, strip] = [48 * 64, 36 * 36 - 8 * 16, 24 * 22, 20 * 22, 48 * 2]
  const free = all - tumour - stroma + both
  assert.equal(await countsOf('drawn.geojson'), { 0: stroma - both, 1: tumour, 255: free })
  assert.equal(await countsOf('drawn.geojson', { classNames: 'tumour,stroma' }), { 0: tumour - both, 1: stroma, 255: free })
  assert.equal(await countsOf('drawn.geojson', { classNames: 'rest,tumour,stroma', unannotated: 'rest' }), {
    0: free - strip,
    1: tumour - both,
    2: stroma,
    255: strip
  })
  assert.equal(await countsOf('drawn.geojson', { classNames: ['stroma', 'bad=tumour', 'ignored=Ignore*'] }), {
    0: stroma - both,
    1: tumour,
    255: free
  })
  assert.equal(await countsOf('drawn.geojson', { classNames: ['any=tumour', 'ignored=stroma'] }), {
    0: tumour - both,
    255: all - tumour + both
  })
  // Without the strip, and `rest` between the others.
  assert.equal(await countsOf('drawn.xml', { unannotated: 'swamp' }), { 0: stroma - both, 1: free, 2: tumour })
  const { names, classes } = await valueOf(await read('drawn.xml', { unannotated: 'swamp' }))
  assert.equal([names, classes], [['stroma', 'swamp', 'tumour'], 3])
})

/** One place, a line, and a line there and back. */
const withoutArea: readonly (readonly Corner[])[] = [
  [
    [7.1, 3.3],
    [7.1, 3.3],
    [7.1, 3.3]
  ],
  [
    [7.1, 3.3],
    [14.2, 6.6],
    [21.3, 9.9]
  ],
  [
    [7.1, 3.3],
    [9, 3.3],
    [7.1, 3.3],
    [7.1, 9]
  ]
]

const rejected: readonly (readonly [name: string, text: string, sentence: RegExp, options?: ReadDatasetOptions])[] = [
  ['a.geojson', '{"type": "FeatureCollection"', /^.*data\.csv line 2: the annotations .*a\.geojson: it is no JSON \(.*\): store it anew$/],
  ['a.json', '{"type": "Topology"}', /a\.json: it is no GeoJSON of features, as QuPath exports$/],
  ['a.json', collection({ type: 'Feature', properties: {} }), /feature 1: geometry is missing$/],
  [
    'a.json',
    collection(
      feature('x', [
        [0, 0],
        [1, 1]
      ])
    ),
    /feature 1: coordinates\[0\] is .*, not a ring: four positions/
  ],
  [
    'a.json',
    collection(feature('x', box(0, 0, 9, 9)), feature(undefined, box(1, 1, 2, 2))),
    /feature 2: the polygon has no class: give it one/
  ],
  [
    'a.json',
    JSON.stringify({ type: 'FeatureCollection', crs: {}, features: [] }),
    /it has a coordinate system \(crs\), but places are in pixels/
  ],
  [
    'a.json',
    collection(
      feature('x', [
        [0, 0],
        [10, 10],
        [10, 0],
        [0, 10]
      ])
    ),
    /feature 1: the polygon crosses itself at x 5, y 5: draw it again there$/
  ],
  [
    'a.json',
    collection(feature('x', box(60, 10, 70, 20))),
    /feature 1: the polygon lies at x 60, y 10, outside of its image of 64x48: give each image its own annotations, in pixels of its finest level$/
  ],
  [
    'a.json',
    collection(feature('w', box(0, 0, 9, 9))),
    /feature 1: the class "w" is none of x, y: mend it, or add it to --class-names$/,
    { classNames: 'x,y' }
  ],
  [
    'a.json',
    collection(...drawn),
    /^--unannotated w is none of the classes x, y: add it to --class-names$/,
    { classNames: 'x,y', unannotated: 'w' }
  ],
  ['a.xml', '<constructor/>', /a\.xml: it begins with <constructor> and is no file of ASAP or ImageScope: /],
  ['a.xml', '<a>\n<b></a>', /a\.xml: it begins with <a> and is no file of ASAP or ImageScope: store it as one of these, or as GeoJSON$/],
  [
    'a.xml',
    asap(['x', box(0, 0, 9, 9)]).replace('</Coordinates>', ''),
    /a\.xml: it is no XML \(\d+:\d+: unexpected close tag\): store it anew$/
  ],
  ['a.xml', asap(['x', box(0, 0, 9, 9)]).replace('X="9"', 'X="nine"'), /a\.xml: line 7: X is "nine", which is no number$/],
  ['a.xml', asap(['x', box(0, 0, 9, 9), 'Spline']), /a\.xml: line 4: its shape is a Spline: draw it as a polygon$/],
  ['a.xml', asap(['x', box(0, 0, 9, 9), '']), /a\.xml: line 4: its shape is missing \(Type\): draw it as a polygon$/],
  ['a.xml', asap(['None', box(0, 0, 9, 9)]), /line 4: the polygon has no class: /],
  [
    'a.xml',
    asap([
      'x',
      [
        [0, 0],
        [1, 1]
      ]
    ]),
    /line 4: the polygon has less than three corners: draw it again, or delete it$/
  ],
  [
    'a.json',
    collection(feature('x', box(0, 0, 9, 9).with(1, [300, 1e308]))),
    /feature 1: the polygon has a corner more than 1000000000 pixels away: give places in pixels of the image$/
  ],
  ...withoutArea.map(
    (corners) =>
      [
        'a.json',
        collection(feature('x', corners)),
        /feature 1: the polygon has no area at x 7\.1, y 3\.3: draw it again, or delete it$/
      ] as const
  )
]

for (const [name, text, sentence, options] of rejected)
  test(`refused: ${sentence.source.slice(0, 70)}`, async () => {
    writeFileSync(at(name), text)
    const failure = await failureOf(await read(name, options))
    assert.is(failure.code, 'input')
    assert.match(failure.message, sentence)
  })

test('polygons in longitude and latitude are refused where the image lies on the ground; those of pixels are read there', async () => {
  const tags: readonly Field[] = [
    [33550, 12, [10, 10, 0]],
    [33922, 12, [0, 0, 0, 500_000, 5_800_000, 0]]
  ]
  const image = { height, width, pixels: new Uint8Array(3 * height * width) }
  const readAt = async (polygon: readonly Corner[], placed: readonly Field[]) => {
    writeTiledTiff(at('ground.tif'), [image], { tile: 16, channels: 3, tags: placed })
    writeFileSync(at('ground.json'), collection(feature('x', polygon)))
    writeFileSync(at('ground.csv'), 'path,mask\nground.tif,ground.json\n')
    return readDataset(at('ground.csv'))
  }
  const globe = box(4.8912, 52.3731, 4.8954, 52.3792)
  for (const polygon of [globe, box(-70.25, -33.5, -70.125, -33.25)])
    assert.match(
      (await failureOf(await readAt(polygon, tags))).message,
      /ground\.json: each polygon is smaller than a pixel of its image, which lies on the ground, as in longitude and latitude: store places in pixels/
    )
  await valueOf(await readAt(box(2.25, 3.5, 12.75, 9.5), tags))
  await valueOf(await readAt(globe, []))
})

test('annotations that are absent are named', async () => {
  assert.match(
    (await failureOf(await read('absent.xml'))).message,
    /data\.csv line 2: the annotations .*absent\.xml cannot be read: no such file or directory; mend its path, or leave its row out$/
  )
})

const options = { model: segmenting, input: [2, 3, 32, 16], device: 'reference', threads: 1, seed: 5, steps: 3, flip: true } as const
const losses = async (data: string, more: Partial<TrainOptions> = {}) =>
  (await valueOf(train({ ...options, data: at(data), ...more }))).loss

test('training on polygons gives the bits of training on the mask that they paint, at each level', async () => {
  const names = { classNames: 'rest,tumour,stroma', unannotated: 'rest' }
  const shapes = [
    { outer: box(4, 4, 40, 40), holes: [box(8, 20, 16, 36)], rank: 0 },
    { outer: box(20, 8, 44, 30), holes: [], rank: 1 },
    { outer: box(0, 0, 48, 2), holes: [], rank: 2 }
  ]
  const mask = painted(shapes, { height, width }).map((value) => ({ 9: 0, 3: 1, 0: 2, 255: 255 })[value]!)
  writePng(at('mask.png'), mask, { height, width, bitDepth: 8 })
  writeFileSync(at('png.csv'), 'path,mask\nslide.tif,mask.png\nimage.png,mask.png\n')
  writeFileSync(at('json.csv'), 'path,mask\nslide.tif,drawn.geojson\nimage.png,drawn.geojson\n')
  for (const more of [
    {},
    { rotate: true, input: [2, 3, 16, 16] as const },
    { classWeights: 'balanced', validation: at('png.csv') }
  ] as const)
    assert.equal(await losses('json.csv', { ...more, ...names }), await losses('png.csv', more))
  writeFileSync(at('one.csv'), 'path,mask\nslide.tif,drawn.geojson\n')
  writeFileSync(at('one-png.csv'), 'path,mask\nslide.tif,mask.png\n')
  // Corners at even places: the middle of two pixels lies where both of them do.
  assert.equal(await losses('one.csv', { level: 1, ...names }), await losses('one-png.csv', { level: 1 }))
})

test('a data set of polygons that was read may be handed on, and be trained on as it is', async () => {
  const data = await valueOf(await read('drawn.geojson', { classNames: 'rest,tumour,stroma', unannotated: 'rest' }))
  assert.equal((await valueOf(train({ ...options, data: JSON.parse(JSON.stringify(data)) as typeof data }))).steps, 3)
})

test.run()
