import {
  completeRights,
  isServerRight,
  SERVER_RIGHT_GROUPS,
  type ServerRight,
  ungiveable,
} from '@portcullis/core/access/server-rights.ts';
import {
  giveRights,
  type LinkDeps,
  listServerLinks,
  loadServerPeople,
  lockRights,
  makeLink,
  requireEmail,
  takeRights,
  voidLinksOf,
  withdrawServerLink,
} from '../accounts/index.ts';
import { holderIdOf, keyActor, personOf, recordAudit, rightsOn } from '../access/index.ts';
import type { Reader, Tx } from '../db/database.ts';
import { recordActivity, requireServer, type ServerCall } from '../game-servers/index.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notThere } from '../http/operations/not-found.ts';
import type { Call } from '../http/operations/operation.ts';
import { invalidField, Problem } from '../problem.ts';

type Names =
  | 'listServerPeople'
  | 'inviteToServer'
  | 'setServerRights'
  | 'removeFromServer'
  | 'withdrawServerInvitation';

const DONE = { status: 200, body: { data: { done: true } } } as const;

/** The people who have rights to one server without belonging to its organisation, or beside their role. */
export function createServerPeople(deps: LinkDeps): { readonly handlers: Pick<Handlers, Names> } {
  return { handlers: { ...rightsHandlers(), ...invitationHandlers(deps) } };
}

type InvitationNames = 'inviteToServer' | 'withdrawServerInvitation';

function rightsHandlers(): Pick<Handlers, Exclude<Names, InvitationNames>> {
  return {
    async listServerPeople(call, db) {
      const { uuid } = await requireServer(db, call, 'user.read');
      return { status: 200, body: { data: await readPeople(db, uuid, rightsOn(call.by, uuid)) } };
    },
    async setServerRights(call, tx) {
      const { before, server } = await requirePerson(tx, call, 'user.update');
      const after = requireGiveable(call, call.body.rights);
      await giveRights(tx, server, call.params.person, after);
      await record(tx, call, 'people.change', { before, after });
      await endRights(tx, call);
      return DONE;
    },
    async removeFromServer(call, tx) {
      const { before, server } = await requirePerson(tx, call, 'user.delete');
      await takeRights(tx, server, call.params.person);
      await record(tx, call, 'people.remove', { before });
      await endRights(tx, call);
      return DONE;
    },
  };
}

function invitationHandlers(deps: LinkDeps): Pick<Handlers, InvitationNames> {
  return {
    async inviteToServer(call, tx) {
      const server = await requireServer(tx, call, 'user.create');
      const rights = requireGiveable(call, call.body.rights);
      const { by } = call;
      const link = {
        kind: 'invitation',
        email: requireEmail(call.body.email),
        organisation: by.organisation.slug,
        server: server.uuid,
        serverName: server.name,
        rights,
      } as const;
      const makerKeyId = by.kind === 'key' ? by.keyId : null;
      const making = {
        ...deps,
        actor: keyActor(call),
        makerId: personOf(by)?.id ?? null,
        makerKeyId,
      };
      const data = await makeLink(call, tx, link, making);
      await recordActivity(tx, call, 'people.invite', { email: link.email, rights });
      return { status: 201, body: { data } };
    },
    async withdrawServerInvitation(call, tx) {
      const { uuid } = await requireServer(tx, call, 'user.delete');
      const { invitation } = call.params;
      const withdrawn = await withdrawServerLink(tx, invitation, uuid);
      if (withdrawn === null) throw notThere();
      await recordAudit(tx, {
        actor: keyActor(call),
        organisationId: call.by.organisationId,
        action: 'link.withdraw',
        target: `link:${invitation}`,
      });
      await recordActivity(tx, call, 'people.withdraw', { email: withdrawn.email });
      return DONE;
    },
  };
}

async function readPeople(db: Reader, uuid: string, own: ReadonlySet<ServerRight>) {
  const people = await loadServerPeople(db, uuid);
  const invitations = await listServerLinks(db, uuid);
  return {
    people: people.map(({ since, ...person }) => ({ ...person, since: since.toISOString() })),
    invitations: invitations.map(({ id, email, rights, created_by, expires_at }) => ({
      id,
      email: email ?? '',
      rights: rights ?? [],
      created_by,
      expires_at: expires_at.toISOString(),
    })),
    rights: SERVER_RIGHT_GROUPS.flatMap(({ title, rights }) =>
      rights.map(({ right, description }) => ({
        group: title,
        right,
        description,
        own: own.has(right),
      })),
    ),
  };
}

type PersonCall = ServerCall & Call & { readonly params: { readonly person: number } };

/** A person of the server whose rights the caller decides about: it has each of them itself. */
async function requirePerson(
  tx: Tx,
  call: Pick<PersonCall, 'by' | 'params'>,
  right: ServerRight,
): Promise<{ readonly server: string; readonly before: readonly ServerRight[] }> {
  const { uuid: server } = await requireServer(tx, call, right);
  const before = await lockRights(tx, server, call.params.person);
  if (before === null) throw notThere();
  const lacking = ungiveable(rightsOn(call.by, server), before);
  if (lacking.length > 0) {
    throw new Problem(
      'ability_missing',
      `This person has rights that you lack: ${lacking.join(', ')}. One who has them too decides about them.`,
    );
  }
  return { server, before };
}

/** The rights of a body, complete; 422 for one that is unknown, or that the caller lacks. */
function requireGiveable(
  { by, params: { slice } }: Pick<ServerCall, 'by' | 'params'>,
  names: readonly string[],
): readonly ServerRight[] {
  const unknown = names.findIndex((name) => !isServerRight(name));
  if (unknown !== -1) {
    throw invalidField(
      `/rights/${unknown}`,
      `${names[unknown]} is no right; listServerPeople names them all`,
    );
  }
  const rights = completeRights(names.filter(isServerRight));
  const [lacking] = ungiveable(rightsOn(by, slice), rights);
  if (lacking === undefined) return rights;
  const at = names.indexOf(lacking);
  throw invalidField(
    `/rights/${Math.max(at, 0)}`,
    `${lacking} is a right that you lack yourself, so you cannot give it`,
  );
}

async function record(
  tx: Tx,
  call: Pick<PersonCall, 'by' | 'params' | 'source' | 'requestId'>,
  action: 'people.change' | 'people.remove',
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { slice, person } = call.params;
  await recordAudit(tx, {
    actor: keyActor(call),
    organisationId: call.by.organisationId,
    action: `server.${action}`,
    target: `server:${slice}`,
    detail: { person, ...detail },
  });
  await recordActivity(tx, call, action, { person, ...detail });
}

/** After a person lost rights: invitations that it could not make now are void, and what it writes has ended. */
async function endRights(
  tx: Tx,
  call: Pick<PersonCall, 'by' | 'params' | 'source' | 'requestId' | 'endsRights'>,
): Promise<void> {
  const { person } = call.params;
  await voidLinksOf(tx, person, keyActor(call));
  if (holderIdOf(call.by) !== -person) call.endsRights(-person);
}
