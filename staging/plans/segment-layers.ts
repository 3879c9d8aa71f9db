import type { PlanSegment } from '../../dsl/internal'

/** Fields of a segment that decide of single layers. */
type LayerField = 'winograd' | 'slicedWinograd' | 'normaliseOnLoad' | 'hostTensors'

/** The same decisions, with the layers told otherwise: by names, or by positions. */
export const mapLayers = <A, B>(
  { winograd, slicedWinograd, normaliseOnLoad, hostTensors }: { readonly [F in LayerField]?: readonly A[] | undefined },
  map: (layers: readonly A[]) => readonly B[]
): Pick<PlanSegment<B>, LayerField> => ({
  ...(winograd && { winograd: map(winograd) }),
  ...(slicedWinograd && { slicedWinograd: map(slicedWinograd) }),
  ...(normaliseOnLoad && { normaliseOnLoad: map(normaliseOnLoad) }),
  ...(hostTensors && { hostTensors: map(hostTensors) })
})
