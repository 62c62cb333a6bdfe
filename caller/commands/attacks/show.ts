import type { Command } from 'commander';
import { countOf } from '@portcullis/core/count.ts';
import { formatPps } from '@portcullis/core/attacks/format.ts';
import type { AttackDetail } from '@portcullis/client/generated/operations.ts';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { localTime, print, printJson, styled } from '../../output.ts';

type Detail = AttackDetail['data'];
type Evidence = NonNullable<Detail['evidence']>;
type Counted = Detail['dropped'];
type TopPort = Evidence['top_source_ports'][number];

export function addShow(attacks: Command): void {
  withCallOptions(
    attacks
      .command('show')
      .description('an attack: its type, peaks, sources, traffic over time, and mitigations')
      .argument('<id>', 'as `attacks list` prints it'),
  )
    .addHelpText(
      'after',
      `
  portcullis attacks show 311
  portcullis attacks show 311 --json | jq .data.evidence.series`,
    )
    .action(showAttack);
}

async function showAttack(id: string, options: CallOptions): Promise<void> {
  if (!/^[1-9][0-9]{0,15}$/.test(id)) throw usageError(`an attack has a whole number, not ${id}`);
  const { data } = await connect(options).readAttack({ attack: Number(id) });
  if (options.json === true) printJson(data);
  else describe(data);
}

function describe(detail: Detail): void {
  const { attack, mitigations, cancelled_at: cancelledAt, evidence, usual, accepted } = detail;
  const { prefix, status } = attack;
  print(
    `${styled('bold', `attack ${attack.id}`)} on ${attack.destination_ip} (${prefix}): ${status}`,
  );
  print(`type        ${attack.attack_type}${sharesOf(evidence)}`);
  print(
    `peak        ${attack.peak_pps_formatted}, ${attack.peak_bps_formatted}${errorOf(evidence)}`,
  );
  const until = attack.ended_at === null ? 'now, ongoing' : localTime(attack.ended_at);
  print(`time        ${localTime(attack.started_at)} to ${until}, ${attack.duration_seconds} s`);
  if (evidence !== null) {
    const mitigated =
      evidence.mitigated_after_ms === null
        ? 'not mitigated'
        : `mitigated ${evidence.mitigated_after_ms} ms later`;
    print(`detected    after ${evidence.detected_after_ms} ms, ${mitigated}`);
    const top = (list: readonly string[]): string =>
      list.length === 0 ? 'not known' : list.join(', ');
    print(`sources     ${top(evidence.top_sources.map((one) => one.source_ip))}`);
    print(`from ports  ${top(evidence.top_source_ports.map(portText))}`);
    print(`to ports    ${top(evidence.top_destination_ports.map(portText))}`);
    if (evidence.series !== null) print(`traffic     ${sparkline(evidence.series.pps)}`);
  }
  for (const one of mitigations) {
    const by = one.edge === null ? '' : ` by edge ${one.edge} on its own`;
    const ended =
      one.until === null ? '' : ` until ${localTime(one.until)} (${one.ended_because ?? 'ended'})`;
    print(
      `${one.mode === 'observe' ? 'observed   ' : 'mitigation '} ${one.action}${by}, since ${localTime(one.since)}${ended}`,
    );
  }
  if (detail.dropped.packets > 0) print(`dropped     ${formatCount(detail.dropped)}`);
  if (detail.would_drop.packets > 0) {
    print(`would drop  ${formatCount(detail.would_drop)}; mitigation: on drops them`);
  }
  if (cancelledAt !== null)
    print(`cancelled   ${localTime(cancelledAt)}: it is no longer mitigated`);
  if (usual !== null) {
    print(`usual?      it has lasted an hour with a steady shape, from many sources`);
    print(`            portcullis attacks accept ${attack.id} sets ${thresholdsOf(usual)}`);
  }
  if (accepted !== null) {
    print(`accepted    ${localTime(accepted.at)} by ${accepted.by}: ${thresholdsOf(accepted)}`);
  }
}

function thresholdsOf({ pps, mbps }: NonNullable<Detail['usual']>): string {
  return `thresholds of ${pps} packets/s and ${mbps} Mbit/s`;
}

function formatCount({ packets, bytes }: Counted): string {
  return `${countOf(packets, 'packet')}, ${countOf(bytes, 'byte')}, as far as edges have reported`;
}

function portText({ port, protocol }: TopPort): string {
  return protocol === null ? String(port) : `${protocol} ${port}`;
}

function sharesOf(evidence: Evidence | null): string {
  const shares = evidence?.shares ?? [];
  if (shares.length < 2) return '';
  const parts = shares.map((one) => `${one.attack_type} ${Math.round(one.share * 100)} %`);
  return `: ${parts.join(', ')}`;
}

function errorOf(evidence: Evidence | null): string {
  const bounds = evidence?.peak_pps_bounds ?? null;
  if (bounds === null || bounds.low === bounds.high) return '';
  return ` (between ${formatPps(bounds.low)} and ${formatPps(bounds.high)})`;
}

const BARS = '▁▂▃▄▅▆▇█';
const SPARK_WIDTH = 60;

/** Pure: rates as bars; each bar shows the largest rate of its part. */
export function sparkline(rates: readonly number[]): string {
  const width = Math.min(SPARK_WIDTH, rates.length);
  const most = Math.max(1, ...rates);
  return Array.from({ length: width }, (_, index) => {
    const part = rates.slice(
      Math.floor((index * rates.length) / width),
      Math.floor(((index + 1) * rates.length) / width),
    );
    const height = Math.round((Math.max(0, ...part) / most) * (BARS.length - 1));
    return BARS[height] ?? '';
  }).join('');
}
