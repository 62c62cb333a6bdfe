import { sql } from 'kysely';
import type { Db, Tx } from '../../db/database.ts';
import { invalidField, Problem } from '../../problem.ts';

/**
 * Notes and tags of an organisation's own rules: private to the account, for the portal and the command line.
 * They change no policy and take no generation. `/api/v1` never returns them.
 */
export interface RuleNote {
  /** Plain text; lines end with \n. Null: none. */
  readonly note: string | null;
  /** In the order given, each once. */
  readonly tags: readonly string[];
}

export const NOTE_LENGTH = 2000;
export const TAG_LENGTH = 50;
export const TAGS_PER_RULE = 20;

/** Notes of all own rules of an address that have a note or tags. */
export async function loadAddressNotes(
  db: Db | Tx,
  holdingId: number,
  ip: string,
): Promise<(RuleNote & { readonly id: number })[]> {
  const { rows } = await sql<RuleNote & { id: number }>`
    select r.id, r.note, r.tags from rules r join addresses a on a.id = r.address_id
     where a.holding_id = ${holdingId} and a.ip = ${ip}::inet and r.deleted_generation is null
       and (r.note is not null or r.tags <> '{}')
     order by r.id`.execute(db);
  return rows;
}

export interface NotedAddress {
  readonly ip: string;
  /** How many of its rules have a note or tags. */
  readonly rules: number;
  /** Each once, by name. */
  readonly tags: readonly string[];
}

/** Addresses of present holdings whose rules have notes or tags, those that contain `search`, in order. */
export async function loadNotedAddresses(
  db: Db | Tx,
  organisationId: number,
  page: { readonly search: string; readonly after: string | null; readonly limit: number },
): Promise<NotedAddress[]> {
  const found = page.search.trim().toLowerCase();
  const { rows } = await sql<NotedAddress>`
    select host(a.ip) as ip, count(distinct r.id) as rules,
           coalesce(array_agg(distinct t.tag order by t.tag) filter (where t.tag is not null), '{}') as tags
      from rules r join addresses a on a.id = r.address_id join holdings h on h.id = a.holding_id
      left join lateral unnest(r.tags) as t (tag) on true
     where r.deleted_generation is null and (r.note is not null or r.tags <> '{}')
       and h.organisation_id = ${organisationId} and h.during @> now()
       and (${page.after}::inet is null or a.ip > ${page.after}::inet)
       and (${found} = '' or position(${found} in lower(r.note)) > 0
            or exists (select from unnest(r.tags) as o (tag) where position(${found} in lower(o.tag)) > 0))
     group by a.ip order by a.ip limit ${page.limit}`.execute(db);
  return rows;
}

/** Writes canonical notes of rules that this transaction created. */
export async function insertNotes(
  tx: Tx,
  notes: readonly (RuleNote & { readonly id: number })[],
): Promise<void> {
  if (notes.length === 0) return;
  await sql`
    update rules r set note = n.note, tags = n.tags
      from jsonb_to_recordset(${JSON.stringify(notes)}::jsonb) as n (id bigint, note text, tags text[])
     where r.id = n.id`.execute(tx);
}

/** Replaces both. A rule that the organisation does not have now is `not_found`. */
export async function saveRuleNote(
  tx: Tx,
  organisationId: number,
  ruleId: number,
  wanted: RuleNote,
): Promise<RuleNote> {
  const { note, tags } = canonicalNote(wanted);
  const { rows } = await sql`
    update rules r set note = ${note}, tags = ${tags}::text[]
     where r.id = ${ruleId} and ${held(organisationId)} returning r.id
  `.execute(tx);
  if (rows.length === 0) throw new Problem('not_found', `There is no rule ${ruleId}.`);
  return { note, tags };
}

/** Trimmed, an empty note is none, a repeated tag is one. Throws what is too long or unprintable. */
export function canonicalNote({ note, tags }: RuleNote): RuleNote {
  const text = note?.replaceAll('\r\n', '\n').trim() ?? '';
  if (Array.from(text).length > NOTE_LENGTH) {
    throw invalidField('/note', `A note has at most ${NOTE_LENGTH} characters.`);
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text) || !text.isWellFormed()) {
    throw invalidField('/note', 'A note holds text: no control characters but tabs and line ends.');
  }
  const kept = [...new Set(tags.map((tag) => tag.trim()))];
  if (kept.length > TAGS_PER_RULE) {
    throw invalidField('/tags', `A rule has at most ${TAGS_PER_RULE} tags.`);
  }
  for (const tag of kept) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    if (tag === '' || Array.from(tag).length > TAG_LENGTH || /[\u0000-\u001f\u007f]/.test(tag)) {
      const detail = `A tag has 1 to ${TAG_LENGTH} characters, none of them control characters.`;
      throw invalidField('/tags', detail);
    }
    if (!tag.isWellFormed()) throw invalidField('/tags', 'A tag holds text.');
  }
  return { note: text === '' ? null : text, tags: kept };
}

/** The condition that rule `r` lives in a holding that the organisation has now. */
function held(organisationId: number) {
  return sql`r.deleted_generation is null and exists (
    select from addresses a join holdings h on h.id = a.holding_id
     where a.id = r.address_id and h.organisation_id = ${organisationId} and h.during @> now())`;
}
