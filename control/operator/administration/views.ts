import type { KnownCollector } from '../../attacks/collectors/index.ts';
import type { EdgeStatus } from '../../fleet/index.ts';
import type { EggHost } from '../egg-hosts.ts';
import { type FoundEgg, type NodeStatus, variableView } from '../../game-servers/index.ts';
import { viewOf } from '../../http/operations/view.ts';

export function edgeView({
  id: _id,
  leftServiceAt: _left,
  enrolled: _enrolled,
  enforcing: _enforcing,
  lacksDevice: _lacksDevice,
  refused,
  ...edge
}: EdgeStatus) {
  return { ...viewOf(edge), refused: refused.map(viewOf) };
}

export function nodeView({ id: _id, engine, ...node }: NodeStatus) {
  const { kind, version, problem } = engine ?? {};
  return viewOf({ ...node, engine: engine && { kind, version, problem } });
}

export function collectorView({ id: _id, listed: exporters, ...collector }: KnownCollector) {
  return { ...viewOf(collector), exporters };
}

export function eggView(
  name: string,
  { egg, digest, icon, author }: Omit<FoundEgg, 'notes'>,
  hosts: readonly EggHost[],
) {
  return {
    name,
    digest,
    icon,
    author,
    title: egg.name,
    description: egg.description,
    images: egg.images.map(({ label }) => label),
    variables: egg.variables.map((variable) => ({
      ...variableView(variable),
      viewable: variable.viewable,
      editable: variable.editable,
    })),
    hosts,
  };
}
