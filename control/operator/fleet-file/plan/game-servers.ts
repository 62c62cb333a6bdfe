import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { sameValue, type StoredServer, withSettings } from '../../index.ts';
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

/**
 * Refuses servers whose egg was not found under its digest. One that a server has already is stored, so it may be named by its digest
 * with the image and the variables that were checked when it was made.
 */
export function refuseMissingEggs(draft: PlanDraft): void {
  const { file, state } = draft;
  const digests = new Set(file.eggs.map(({ found }) => found.digest));
  const stored = new Map(state.objects.server.map((row) => [row.object.uuid, row]));
  for (const { object, at } of file.objects.server) {
    const { uuid, egg, egg_digest: digest } = object;
    if (digests.has(digest)) continue;
    const before = stored.get(uuid);
    if (before?.object.egg_digest !== digest) {
      draft.refuse(at, `There is no egg ${egg} with the digest ${digest}: leave egg_digest out.`);
    } else if (hasOtherSettings(before, object)) {
      const message = `The egg ${egg} of the digest ${digest} is not at hand to check the image and the variables: put it beside this file, or leave them as they are.`;
      draft.refuse(at, message);
    }
  }
}

function hasOtherSettings(
  { object: before, facts }: StoredServer,
  declared: ServerObject,
): boolean {
  const { image, variables } = withSettings(declared, before, facts.setByPeople);
  return image !== before.image || !sameValue(variables, before.variables);
}
