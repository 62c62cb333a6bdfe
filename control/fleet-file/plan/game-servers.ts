import { countOf } from '@portcullis/core/count.ts';
import type { DesiredNode } from '../desired.ts';
import { describeDifferences, PlanDraft, planNamed } from './draft.ts';

export function planNodes(draft: PlanDraft): void {
  planNamed(draft, 'node', {
    wanted: draft.file.nodes,
    rows: draft.state.nodes,
    save(node, row) {
      const { name, at } = node;
      const change = { node, subject: `node ${name}`, organisation: null };
      if (row === undefined) {
        const words = `it is let in once it is enrolled: portcullis nodes enrol ${name}`;
        draft.add({ do: 'node.create', sign: '+', words, ...change }, at);
        return;
      }
      const words = describeDifferences(row, offerOf(node));
      if (words !== '') draft.add({ do: 'node.update', sign: '~', words, ...change }, at);
    },
    remove({ id, name }) {
      const portal = draft.state.objects.server.filter(
        ({ object, owner }) => object.node === name && owner === 'portal',
      );
      if (portal.length > 0) {
        const message = `The node ${name} is not in the file, but has ${countOf(portal.length, 'server')} made by hand: name them in the file and hand them to it with --adopt, or remove them first.`;
        draft.refuse(PlanDraft.fileStart, message);
        return;
      }
      const subject = `node ${name}`;
      draft.add({ do: 'node.delete', sign: '-', id, subject, words: '', organisation: null });
    },
  });
}

function offerOf({ memory, disk, addresses, ports }: DesiredNode) {
  return { memory, disk, addresses, ports };
}

/** Notes servers that a key names and that do not exist: a later file may create them, but most are mistyped. */
export function noteUnknownServers(draft: PlanDraft): void {
  const { file, state } = draft;
  const portal = state.objects.server.filter(({ owner }) => owner === 'portal');
  const byOrganisation = Map.groupBy(
    [...file.objects.server, ...portal].map(({ object }) => object),
    ({ organisation }) => organisation,
  );
  for (const { slug, keys } of file.organisations) {
    const known = new Set(byOrganisation.get(slug)?.map(({ uuid }) => uuid));
    for (const { name, servers, managedServers } of keys) {
      for (const uuid of new Set([...(servers ?? []), ...(managedServers ?? [])])) {
        if (known.has(uuid)) continue;
        draft.note(`key ${name} (${slug}): there is no server ${uuid} of ${slug}`);
      }
    }
  }
}

/** Notes what of the eggs of the file has no effect. */
export function noteEggs(draft: PlanDraft): void {
  for (const { name, found } of draft.file.eggs) {
    for (const note of found.notes) draft.note(`egg ${name}: ${note}`);
  }
}
