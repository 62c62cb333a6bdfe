import { callApi } from '../api.ts';
import { usageError } from '../exit.ts';
import { print, printJson, styled } from '../output.ts';
import type { ExplainOptions } from '../program/explain.ts';

interface Explanation {
  readonly data: {
    readonly verdict: 'pass' | 'drop';
    readonly stage: string;
    readonly decided_by: { readonly kind: string; readonly id: number | null } | null;
    readonly explanation: string;
  };
}

/** `portcullis explain`: asks control, so that the answer is about what is stored, not about a guess. */
export async function explain(ip: string, options: ExplainOptions): Promise<void> {
  const path = `/api/x1/firewall/ips/${encodeURIComponent(ip)}/explain`;
  const answer = (await callApi(options, 'POST', path, packetOf(options))) as Explanation;
  if (options.json === true) {
    printJson(answer);
    return;
  }
  const { verdict, stage, decided_by: by, explanation } = answer.data;
  print(verdict === 'pass' ? styled('green', 'pass') : styled('red', 'drop'));
  print(explanation);
  print(`stage: ${stage}${by === null ? '' : `, decided by ${by.kind} ${by.id ?? ''}`.trimEnd()}`);
}

function packetOf(options: ExplainOptions): object {
  const number = Number(options.protocol);
  return {
    protocol: /^\d{1,3}$/.test(options.protocol) ? number : options.protocol,
    source_ip: options.from,
    ...numeric('destination_port', '--port', options.port),
    ...numeric('source_port', '--source-port', options.sourcePort),
    ...numeric('icmp_type', '--icmp-type', options.icmpType),
    ...(options.view === undefined ? {} : { view: options.view }),
  };
}

function numeric(field: string, option: string, text: string | undefined): object {
  if (text === undefined) return {};
  if (!/^\d{1,5}$/.test(text)) throw usageError(`${option} ${text} is not a number`);
  return { [field]: Number(text) };
}
