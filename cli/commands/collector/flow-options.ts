import type { CollectorOptions, Listen } from '@portcullis/collector/collector.ts';
import { formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { type Cidr, parseCidr } from '@portcullis/core/net/cidr.ts';
import { MAX_SAMPLING_RATE } from '@portcullis/core/attacks/flow-record.ts';
import { usageError } from '@portcullis/caller/exit.ts';

/** `0.0.0.0:6343`, `[::]:6343`. */
export function parseListen(text: string): Listen {
  const form = /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9.]+)):(0|[1-9][0-9]{0,4})$/.exec(text);
  const address = parseAddress(form?.[1] ?? form?.[2] ?? '');
  const port = Number(form?.[3]);
  if (!address.ok || !(port <= 65_535)) {
    throw usageError(`--listen ${text}: not ADDRESS:PORT, such as 0.0.0.0:6343 or [::]:6343`);
  }
  return { host: formatAddress(address.value), family: address.value.family, port };
}

/** `192.0.2.1`, `192.0.2.1=1000`. */
export function parseExporters(texts: readonly string[]): CollectorOptions['exporters'] {
  return new Map(
    texts.map((text) => {
      const [ip = '', rate = '1', ...rest] = text.split('=');
      const address = parseAddress(ip);
      if (!address.ok) throw usageError(`--exporter ${text}: ${address.reason}`);
      const known = /^[1-9][0-9]{0,7}$/.test(rate) && Number(rate) <= MAX_SAMPLING_RATE;
      if (!known || rest.length > 0) {
        throw usageError(`--exporter ${text}: a rate is a number from 1 to ${MAX_SAMPLING_RATE}`);
      }
      return [formatAddress(address.value), Number(rate)];
    }),
  );
}

export function parsePrefixes(texts: readonly string[] | undefined): Cidr[] | null {
  return (
    texts?.map((text) => {
      const cidr = parseCidr(text);
      if (!cidr.ok) throw usageError(`--prefix ${text}: ${cidr.reason}`);
      return cidr.value;
    }) ?? null
  );
}

export function parseCount(text: string, option: string, min: number, max: number): number {
  if (!/^[0-9]{1,9}$/.test(text) || Number(text) < min || Number(text) > max) {
    throw usageError(`${option} ${text}: a number from ${min} to ${max}`);
  }
  return Number(text);
}
