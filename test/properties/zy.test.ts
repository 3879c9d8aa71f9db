import { randomSegments } from '../staging/random-segments'
import { randomExecution } from './random-execution'
import { layerText } from '../../dsl'
for (const seed of process.env.SEEDS!.split(',').map(Number)) {
  const { draw, graph } = randomExecution(seed, 'graph')
  console.log(seed, graph.input.join('x'))
  graph.nodes.forEach((n, i) => console.log('  ', i, n.name, layerText(n.op, n.args as never), n.inputs.join(), '->', n.output.join('x')))
  randomSegments(draw, graph).forEach((s) => console.log('   ', s.from, s.to, JSON.stringify(s.grid), s.recompute, s.loadsAhead))
}
