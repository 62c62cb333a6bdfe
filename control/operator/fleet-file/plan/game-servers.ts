import type { PlanDraft } from './draft.ts';

/** Notes servers that a key names and that do not exist: a later file may create them, but most are mistyped. */
export function noteUnknownServers(draft: PlanDraft): void {
  const { file, state } = draft;
  const portal = state.objects.server.filter(({ owner }) => owner === 'portal');
  const byOrganisation = Map.groupBy(
    [...file.objects.server, ...portal].map(({ object }) => object),
    ({ organisation }) => organisation,
  );
  for (const { object } of file.objects.key) {
    const { organisation: slug, name, servers, managed_servers: managed } = object;
    const known = new Set(byOrganisation.get(slug)?.map(({ uuid }) => uuid));
    for (const uuid of new Set([...(servers ?? []), ...(managed ?? [])])) {
      if (known.has(uuid)) continue;
      draft.note(`key ${name} (${slug}): there is no server ${uuid} of ${slug}`);
    }
  }
}

/** Notes what of the eggs of the file has no effect. */
export function noteEggs(draft: PlanDraft): void {
  for (const { name, found } of draft.file.eggs) {
    for (const note of found.notes) draft.note(`egg ${name}: ${note}`);
  }
}
