import type { AcceptedAddress } from '@portcullis/client/generated/operations.ts';

type AlsoDrops = AcceptedAddress['meta']['also_drops'];

/** Above it a list is not spelled out. */
const NAMED = 8;

/** Sentences on what drops packets beside the rules and the default of an address. */
export function alsoDrops({
  blocked_sources: blocked,
  geo_rules: geo,
  baseline_rules: baseline,
}: AlsoDrops): string[] {
  return [
    ...blocked.map(({ target, count, sources }) => {
      const more = count > NAMED ? ` and ${count - NAMED} more` : '';
      return `blocked on ${target ?? 'everything'}: ${sources.slice(0, NAMED).join(', ')}${more}`;
    }),
    ...geo.map(({ id, action, countries, asns }) => {
      const named = [...countries, ...asns.map((asn) => `AS${asn}`)].slice(0, NAMED).join(', ');
      const more = countries.length + asns.length - NAMED;
      const list = `${named}${more > 0 ? ` and ${more} more` : ''}`;
      return action === 'deny'
        ? `geo rule ${id} drops packets from ${list}`
        : `geo rule ${id} drops packets from elsewhere than ${list}`;
    }),
    ...baseline.map(({ id, action, protocol, source_ip: source, destination_port: port }) => {
      const of = [protocol, ...(port === null ? [] : [port])].join(' ');
      return `baseline rule ${id} of the operator: ${action} ${of} from ${source ?? 'anywhere'}`;
    }),
  ];
}
