import type { Command } from 'commander';
import type { Attack, AttackPage } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, parseMoment, withCallOptions } from '../../options.ts';

/** Options that select attacks. */
export interface AttackOptions extends CallOptions {
  readonly ip?: string;
  readonly prefix?: string;
  readonly asn?: string;
  readonly from?: string;
  readonly to?: string;
  readonly ongoing?: boolean;
}

export function withTargetOptions(command: Command): Command {
  return withCallOptions(
    command
      .option('--ip <ip>', 'only attacks on this address')
      .option('--prefix <cidr>', 'only attacks on addresses in this prefix')
      .option('--asn <asn>', 'only attacks on prefixes announced under this ASN'),
  );
}

export interface AttackPages {
  readonly attacks: readonly Attack[];
  readonly meta: AttackPage['meta'];
  readonly pages: number;
}
export type AttackQuery = NonNullable<
  NonNullable<Parameters<KeyClient['listAttacks']>[0]>['query']
>;

const PER_PAGE = 100;

/** Loads pages until `limit` attacks are there. All pages show the same moment, so new attacks shift none of them. */
export async function loadAttacks(
  options: AttackOptions,
  query: AttackQuery,
  limit: number,
): Promise<AttackPages> {
  const attacks: Attack[] = [];
  let pages = 0;
  let meta: AttackPage['meta'] | null = null;
  const paged = { ...query, per_page: Math.min(limit, PER_PAGE) };
  for await (const page of connect(options).pages.listAttacks({ query: paged })) {
    meta ??= page.meta;
    attacks.push(...page.data);
    pages++;
    if (attacks.length >= limit) break;
  }
  if (meta === null) throw new Error('a list has at least one page');
  return { attacks, meta, pages };
}

export function attackQuery({ ip, prefix, asn, from, to, ongoing }: AttackOptions): AttackQuery {
  if (asn !== undefined && !/^\d{1,10}$/.test(asn))
    throw usageError(`--asn ${asn} is not a number`);
  return {
    ...(ip !== undefined && { ip }),
    ...(prefix !== undefined && { prefix }),
    ...(asn !== undefined && { asn: Number(asn) }),
    ...(from !== undefined && { from: parseMoment(from, '--from') }),
    ...(to !== undefined && { to: parseMoment(to, '--to') }),
    ...(ongoing === true && { ongoing }),
  };
}
