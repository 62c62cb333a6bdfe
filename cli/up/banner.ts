import { print, printJson, styled } from '../output.ts';
import type { EdgePlan } from './edge-plan.ts';
import type { PreparedFleet } from './prepare-fleet.ts';

export interface Started {
  readonly url: string;
  readonly fleet: PreparedFleet;
  readonly edge: EdgePlan;
}

export function describeStart(started: Started, asJson: boolean): void {
  if (asJson) printJson(documentOf(started));
  else for (const line of linesOf(started)) print(line);
}

function documentOf({ url, fleet, edge }: Started): object {
  return {
    url,
    docs: `${url}/docs`,
    edge: edge.name,
    enforcing: edge.enforce,
    reason: edge.reason,
    keys: fleet.keys,
    addresses: fleet.addresses,
  };
}

function linesOf({ url, fleet, edge }: Started): string[] {
  const lines = [styled('bold', `Portcullis is up at ${url}`), `  reference: ${url}/docs`];
  for (const key of fleet.keys) {
    lines.push(
      '',
      `API key ${key.name} of ${key.organisation} (shown this once):`,
      `  ${styled('bold', key.key)}`,
    );
  }
  const [key] = fleet.keys;
  const [address] = fleet.addresses;
  if (key !== undefined && address !== undefined) {
    lines.push(
      '',
      'Try:',
      `  curl -s -H 'Authorization: Bearer ${key.key}' ${url}/api/v1/firewall/ips/${address}`,
    );
  }
  return [...lines, '', ...enforcementLines(edge), '', 'Ctrl-C stops it.'];
}

function enforcementLines(edge: EdgePlan): string[] {
  if (!edge.enforce) {
    return [
      styled(['yellow', 'bold'], `NOTHING IS ENFORCED: ${edge.reason}.`),
      'The edge renders and checks what it would enforce. As root: portcullis up --enforce --confirm-within 120s',
    ];
  }
  const lines = [`Enforcing as edge ${edge.name}. Hands off at any time: portcullis edge off`];
  if (edge.confirmWithin !== null) {
    lines.push(`Hands off again in ${edge.confirmWithin} unless you run: portcullis edge confirm`);
  }
  return lines;
}
