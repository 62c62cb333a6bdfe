import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { Problem } from '../../problem.ts';
import { noAttack, notHeld, notSeen, notThere } from './not-found.ts';
import type { OperationRow } from './operation.ts';

/** Parameters of a path, parsed as the row describes them. */
export type PathParams = Readonly<Record<string, string | number>>;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const WHOLE_NUMBER = /^[1-9]\d{0,14}$/;

/** Texts that have one spelling; null if the text is none of them. */
const CANONICAL: Readonly<Record<string, (text: string) => string | null>> = {
  address: canonicalAddress,
  ip: canonicalAddress,
  slice: canonicalUuid,
  uuid: canonicalUuid,
};

function canonicalUuid(text: string): string | null {
  return UUID.test(text) ? text.toLowerCase() : null;
}

/**
 * Parses the parameters of a path in front of every handler. Throws `not_found` for one that can name nothing, with the
 * words of one that does not exist, so that it reveals nothing.
 */
export function parsePathParams(
  { params = {} }: Pick<OperationRow, 'params'>,
  sent: Readonly<Record<string, string>>,
): PathParams {
  const parsed = Object.entries(params).map(([name, schema]) => {
    const text = sent[name] ?? '';
    const value = parseParam(name, schema, text);
    if (value === null) throw namesNothing(name, text);
    return [name, value];
  });
  return Object.fromEntries(parsed) as PathParams;
}

function parseParam(name: string, schema: object, text: string): string | number | null {
  const canonical = CANONICAL[name];
  if (canonical !== undefined) return canonical(text);
  const { type, maximum } = schema as { readonly type?: unknown; readonly maximum?: number };
  if (type !== 'integer') return text;
  const number = WHOLE_NUMBER.test(text) ? Number(text) : null;
  return number !== null && number <= (maximum ?? number) ? number : null;
}

const NOTHING: Readonly<Record<string, () => Problem>> = {
  ip: notHeld,
  slice: notSeen,
  uuid: notSeen,
  attack: noAttack,
  invitation: notThere,
  link: notThere,
  member: notThere,
  passkey: notThere,
  person: notThere,
  session: notThere,
};

function namesNothing(name: string, text: string): Problem {
  const known = NOTHING[name];
  if (known !== undefined) return known();
  const what = name === 'asn' ? 'ASN' : name.replaceAll('_', ' ');
  return new Problem('not_found', `There is no ${what} "${text.slice(0, 50)}".`);
}
