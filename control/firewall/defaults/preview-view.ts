import { SAMPLED_ONE_IN } from '@portcullis/core/firewall/passed.ts';
import { timestampView } from '../views.ts';
import type { DefaultPreview, PreviewedPort } from './preview.ts';

const NAMES: Readonly<Record<number, string>> = {
  1: 'icmp',
  6: 'tcp',
  17: 'udp',
  47: 'gre',
  50: 'esp',
  58: 'icmpv6',
};
/** So many ports are spelled out in the sentence. */
const LISTED = 5;

const SAMPLING = `These are samples, not all packets: those of connections without an answer yet and one of ${SAMPLED_ONE_IN} others.`;
const NOTHING =
  'No edge has reported a sample of the last day, so nothing is known of what a default of deny would drop.';

export function previewView(ip: string, preview: DefaultPreview) {
  const { ports, window, deniedAlready, edges, isComplete } = preview;
  const dropped = sum(ports.map((one) => one.dropped.samples));
  const samples = dropped + sum(ports.map((one) => one.passed.samples)) + deniedAlready;
  return {
    data: {
      ip,
      default: preview.state.default,
      ports: ports.map((one) => ({
        protocol: one.protocol,
        port: one.port,
        dropped: one.dropped,
        passed: one.passed,
        last_seen_at: timestampView(one.lastAt),
      })),
    },
    message: samples === 0 ? NOTHING : `${sentence(ports, samples, dropped)} ${SAMPLING}`,
    meta: {
      from: timestampView(window.from),
      to: timestampView(window.to),
      sampled_one_in: SAMPLED_ONE_IN,
      samples,
      denied_already: deniedAlready,
      edges,
      is_complete: isComplete,
    },
  };
}

function sentence(ports: readonly PreviewedPort[], samples: number, dropped: number): string {
  const what = `Of ${samples} sampled packets of the last day a default of deny would drop`;
  if (dropped === 0) return `${what} none.`;
  const hit = ports.filter((one) => one.dropped.samples > 0);
  const listed = hit.slice(0, LISTED).map((one) => {
    const name = NAMES[one.protocol] ?? `protocol ${one.protocol}`;
    const { samples: packets, sources } = one.dropped;
    return `${name}${one.port === null ? '' : ` ${one.port}`} (${packets} samples from ${sources} sources)`;
  });
  const more = hit.length > LISTED ? `, and ${hit.length - LISTED} more ports` : '';
  return `${what} ${dropped}: ${listed.join(', ')}${more}.`;
}

function sum(list: readonly number[]): number {
  return list.reduce((all, one) => all + one, 0);
}
