import { sql } from 'kysely';
import { findOrganisation, operatorActor, type Person, recordAudit } from '../access/index.ts';
import { voidTokens } from '../agent-credential.ts';
import type { Db, Tx } from '../db/database.ts';
import type { Handlers } from '../http/operations/handlers.ts';
import { notThere } from '../http/operations/not-found.ts';
import type { Call } from '../http/operations/operation.ts';
import { DONE } from './call.ts';
import { type LinkDeps, makeLink } from './links/link-mail.ts';
import { type LinkRow, listOpenLinks, voidLinksOf, withdrawLink } from './links/link-store.ts';
import { endSessions, findPerson, refuse, requireEmail } from './person-store.ts';

type PeopleNames = 'listPeople' | 'changePerson' | 'createResetLink' | 'invitePerson';
type LinkNames = 'listLinks' | 'withdrawLink';

/** Everything that an operator does with people. */
export function operatorHandlers(deps: LinkDeps): Pick<Handlers, PeopleNames> {
  return {
    listPeople: async (_call, db) => ({ status: 200, body: { data: await listPeople(db) } }),
    async changePerson(call, tx) {
      const id = call.params.person;
      if (id === call.by.id) throw refuse('/disabled', 'cannot be changed by oneself');
      const { operator: isOperator, disabled } = call.body;
      const { rows } = await sql`
        update people set is_operator = ${isOperator},
               disabled_at = case when ${disabled} then coalesce(disabled_at, now()) end
         where id = ${id} returning 1`.execute(tx);
      if (rows.length === 0) throw notThere();
      if (disabled) await endSessions(tx, id, null);
      await voidLinksOf(tx, id, operatorActor(call));
      if (disabled || !isOperator) await voidTokens(tx, { personId: id }, operatorActor(call));
      call.endsRights(-id);
      await record(tx, call, {
        action: 'person.change',
        target: `person:${id}`,
        detail: call.body,
      });
      return DONE;
    },
    async createResetLink(call, tx) {
      const person = await findPerson(tx, call.params.person);
      if (person === null) throw notThere();
      const { id: personId, email } = person;
      const link = { kind: 'reset', email, personId, organisation: null } as const;
      const data = await makeLink(call, tx, link, makingOf(call, deps));
      return { status: 200, body: { data } };
    },
    async invitePerson(call, tx) {
      const { organisation: slug, role } = call.body;
      if ((slug === null) !== (role === null)) throw refuse('/role', 'belongs to an organisation');
      const organisation = slug === null ? null : await findOrganisation(tx, slug);
      if (slug !== null && organisation === null) throw refuse('/organisation', 'is not known');
      const email = requireEmail(call.body.email);
      const within =
        organisation === null || role === null ? {} : { organisationId: organisation.id, role };
      const link = { kind: 'invitation', email, organisation: slug, ...within } as const;
      const data = await makeLink(call, tx, link, makingOf(call, deps));
      return { status: 201, body: { data } };
    },
  };
}

function makingOf(call: PersonCall, deps: LinkDeps) {
  return { ...deps, actor: operatorActor(call), makerId: call.by.id };
}

/** Lists and withdraws unused links. A link works for anyone who has it. */
export function openLinkHandlers(): Pick<Handlers, LinkNames> {
  return {
    listLinks: async (_call, db) => ({
      status: 200,
      body: { data: (await listOpenLinks(db)).map(linkView) },
    }),
    async withdrawLink(call, tx) {
      const id = call.params.link;
      const withdrawn = await withdrawLink(tx, id);
      if (withdrawn === null) throw notThere();
      const { organisation_id: organisationId, ...detail } = withdrawn;
      const entry = { action: 'link.withdraw', target: `link:${id}`, detail };
      await record(tx, call, entry, organisationId);
      return DONE;
    },
  };
}

/** An operator acts for an organisation in this session. */
export function actingHandlers(): Pick<Handlers, 'actFor' | 'stopActing'> {
  return {
    async actFor(call, tx) {
      const organisation = await findOrganisation(tx, call.body.organisation);
      if (organisation === null) throw refuse('/organisation', 'is not known');
      await act(tx, call, organisation.id, 'acting.begin');
      return DONE;
    },
    async stopActing(call, tx) {
      await act(tx, call, null, 'acting.end');
      return DONE;
    },
  };
}

type PersonCall = Pick<Call<Person>, 'by' | 'source' | 'requestId' | 'endsRights'>;

async function act(
  tx: Tx,
  call: PersonCall,
  organisationId: number | null,
  action: string,
): Promise<void> {
  const { id, sessionId } = call.by;
  call.endsRights(-id);
  const { rows } = await sql<{ before: number | null }>`
    select acting_id as before from sessions where id = ${sessionId} for update`.execute(tx);
  await sql`update sessions set acting_id = ${organisationId} where id = ${sessionId}`.execute(tx);
  const concerned = organisationId ?? rows[0]?.before ?? null;
  if (concerned === null) return;
  await record(tx, call, { action, target: `organisation:${concerned}` }, concerned);
}

async function record(
  tx: Tx,
  call: PersonCall,
  entry: {
    readonly action: string;
    readonly target: string;
    readonly detail?: Readonly<Record<string, unknown>>;
  },
  organisationId: number | null = null,
): Promise<void> {
  await recordAudit(tx, { actor: operatorActor(call), organisationId, ...entry });
}

function linkView(link: LinkRow): object {
  const { id, kind, email, role, created_by, organisation_slug: organisation } = link;
  const expires_at = link.expires_at.toISOString();
  return { id, kind, email, organisation, role, created_by, expires_at };
}

async function listPeople(db: Db): Promise<object[]> {
  const { rows } = await sql<object>`
    select p.id, p.email, p.name, p.is_operator as operator, p.disabled_at is not null as disabled,
           p.totp_confirmed_at is not null as totp, p.proven_at is not null as proven,
           (select count(*)::int from passkeys k where k.person_id = p.id) as passkeys,
           (select to_json(max(s.last_seen_at)) from sessions s where s.person_id = p.id) as last_seen_at,
           coalesce((select json_agg(json_build_object('slug', o.slug, 'role', m.role) order by o.slug)
                       from members m join organisations o on o.id = m.organisation_id
                      where m.person_id = p.id), '[]') as organisations
      from people p order by p.email`.execute(db);
  return rows;
}
