import type { Role } from '@portcullis/contract/endpoint.ts';
import { sql } from 'kysely';
import { keyActor, recordAudit } from '../access/index.ts';
import type { Member } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import type { Call } from '../http/operations/operation.ts';
import { notThere } from '../http/operations/not-found.ts';
import { Problem } from '../problem.ts';
import { DONE } from './call.ts';
import { type LinkDeps, makeLink } from './links/link-mail.ts';
import { listOpenLinks, voidLinksOf, withdrawLink } from './links/link-store.ts';
import { requireEmail } from './person-store.ts';
import { decidesAbout } from './roles.ts';

type MemberNames = 'listMembers' | 'changeMember' | 'removeMember';
type InvitationNames = 'inviteMember' | 'withdrawInvitation' | 'renameOrganisation';

/** Members of an organisation. */
export function memberHandlers(): Pick<Handlers, MemberNames> {
  return {
    listMembers: async ({ by }, db) => ({
      status: 200,
      body: { data: await loadMembers(db, by.organisationId) },
    }),
    async changeMember(call, tx) {
      const { id, role: before } = await lockMember(tx, call);
      requireAbove(call.by, before, call.body.role);
      await sql`
        update members set role = ${call.body.role}
         where organisation_id = ${call.by.organisationId} and person_id = ${id}`.execute(tx);
      await endRights(tx, call, id);
      await record(tx, call, 'member.change', `person:${id}`, { before, after: call.body.role });
      return DONE;
    },
    async removeMember(call, tx) {
      const { id, role } = await lockMember(tx, call);
      requireAbove(call.by, role);
      await sql`
        delete from members
         where organisation_id = ${call.by.organisationId} and person_id = ${id}`.execute(tx);
      await endRights(tx, call, id);
      await record(tx, call, 'member.remove', `person:${id}`, { role });
      return DONE;
    },
  };
}

/** Invitations to an organisation, and its name. */
export function invitationHandlers(deps: LinkDeps): Pick<Handlers, InvitationNames> {
  return {
    async inviteMember(call, tx) {
      const { role } = call.body;
      requireAbove(call.by, role);
      const { organisationId } = call.by;
      const link = {
        kind: 'invitation',
        email: requireEmail(call.body.email),
        organisationId,
        organisation: call.params.organisation,
        role,
      } as const;
      const making = { ...deps, actor: keyActor(call), makerId: call.by.person.id };
      const data = await makeLink(call, tx, link, making);
      return { status: 201, body: { data } };
    },
    async withdrawInvitation(call, tx) {
      const id = call.params.invitation;
      const withdrawn = await withdrawLink(tx, id, call.by.organisationId);
      if (withdrawn === null || withdrawn.role === null) throw notThere();
      requireAbove(call.by, withdrawn.role);
      await record(tx, call, 'link.withdraw', `link:${id}`, {});
      return DONE;
    },
    async renameOrganisation(call, tx) {
      const { organisationId } = call.by;
      const { rows } = await sql`
        update organisations set name = ${call.body.name}
         where id = ${organisationId} and owner = 'portal' returning 1`.execute(tx);
      if (rows.length === 0) {
        throw new Problem(
          'managed_by_fleet_file',
          'The organisation belongs to the fleet file; its name is changed there.',
        );
      }
      await record(tx, call, 'organisation.rename', `organisation:${organisationId}`, call.body);
      return DONE;
    },
  };
}

type MemberCall = Pick<Call<Member>, 'by' | 'source' | 'requestId' | 'endsRights'>;

async function lockMember(
  tx: Tx,
  call: Pick<CallOf<'changeMember'>, 'by' | 'params'>,
): Promise<{ id: number; role: Role }> {
  const { member: id } = call.params;
  const role = (await lockRoles(tx, call.by.organisationId)).get(id);
  if (role === undefined) throw notThere();
  return { id, role };
}

/** The roles by person. All changes of an organisation's owners are in sequence, so that one always remains. */
export async function lockRoles(
  tx: Tx,
  organisationId: number | null,
): Promise<ReadonlyMap<number, Role>> {
  const { rows } = await sql<{ id: number; role: Role }>`
    select person_id as id, role from members
     where organisation_id = ${organisationId} order by person_id for update`.execute(tx);
  return new Map(rows.map(({ id, role }) => [id, role]));
}

/** An owner decides about everybody, an administrator about roles below its own. */
function requireAbove(by: Member, ...roles: readonly Role[]): void {
  if (roles.every((role) => decidesAbout(by.role, role))) return;
  throw new Problem('role_missing', 'Only an owner of the organisation decides about this role.');
}

/** After a member lost a right: an owner remains, its links that it could not make now are void, its writes end. */
async function endRights(tx: Tx, call: MemberCall, personId: number): Promise<void> {
  await requireOwner(tx, call.by.organisationId);
  await voidLinksOf(tx, personId, keyActor(call));
  call.endsRights(-personId);
}

/** 422 if the organisation would have no owner. */
export async function requireOwner(tx: Tx, organisationId: number): Promise<void> {
  const { rows } = await sql`
    select from members where organisation_id = ${organisationId} and role = 'owner' limit 1`.execute(
    tx,
  );
  if (rows.length > 0) return;
  throw new Problem(
    'invalid_request',
    'The organisation would have no owner. Make another member an owner first.',
  );
}

async function record(
  tx: Tx,
  call: MemberCall,
  action: string,
  target: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { organisationId } = call.by;
  await recordAudit(tx, { actor: keyActor(call), organisationId, action, target, detail });
}

async function loadMembers(db: Db, organisationId: number): Promise<object> {
  const { rows } = await sql<object>`
        select coalesce((
            select json_agg(json_build_object('id', p.id, 'email', p.email, 'name', p.name, 'role', m.role,
                'since', m.since, 'last_seen_at',
                (select max(s.last_seen_at) from sessions s where s.person_id = p.id)) order by p.email)
              from members m join people p on p.id = m.person_id
             where m.organisation_id = ${organisationId}), '[]') as members`.execute(db);
  const links = await listOpenLinks(db, organisationId);
  const invitations = links.map(({ id, email, role, created_by, expires_at }) => ({
    id,
    email: email ?? '',
    role,
    created_by,
    expires_at: expires_at.toISOString(),
  }));
  return {
    ...rows[0],
    invitations: invitations.toSorted((a, b) => a.email.localeCompare(b.email)),
  };
}
