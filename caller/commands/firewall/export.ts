import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { KeyClient } from '@portcullis/client/types.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { usageError } from '../../exit.ts';
import { exportFile } from '../../file/export.ts';
import { eachOf, loadBlocked, loadState } from '../../file/load.ts';
import type { AddressState } from '../../file/plan.ts';
import { parseRulesFile } from '../../file/rules-file.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';
import { addresses, patientClient } from './file.ts';

/** `firewall export`. */
export function addExport(firewall: Command): void {
  withCallOptions(
    firewall
      .command('export')
      .description('write addresses as they are to a file; comments of an existing one stay')
      .argument('[ip...]', 'addresses (default: all with own rules or filters)')
      .option('-f, --file <file>', 'the file (default: standard output)'),
  )
    .addHelpText(
      'after',
      `
  portcullis firewall export -f rules.yaml
  portcullis firewall export 203.0.113.10`,
    )
    .action(exportAddresses);
}

async function exportAddresses(
  ips: readonly string[],
  options: CallOptions & { readonly file?: string },
): Promise<void> {
  const client = patientClient(options);
  const { file } = options;
  const existing = file !== undefined && existsSync(file) ? readFileSync(file, 'utf8') : null;
  // A broken file is not overwritten.
  if (existing !== null && file !== undefined) parseRulesFile(existing, file);
  const named = ips.map((text) => {
    const ip = canonicalAddress(text);
    if (ip === null) throw usageError(`${text} is not an address`);
    return ip;
  });
  const wanted = named.length > 0 ? named : await listAddresses(client);
  const blocked = await loadBlocked(client);
  const states = new Map<string, AddressState>();
  const loaded: AddressState[] = [];
  await eachOf(wanted, async (ip, index) => {
    loaded[index] = await loadState(client, ip, blocked);
  });
  for (const [index, ip] of wanted.entries()) {
    const state = loaded[index];
    if (state !== undefined) states.set(ip, state);
  }
  const text = exportFile(existing, states);
  if (file === undefined) process.stdout.write(text);
  else writeFileSync(file, text);
  if (file === undefined) return;
  if (options.json === true) printJson({ file, addresses: wanted });
  else if (options.quiet !== true) print(`${file} has ${addresses(wanted.length)}.`);
}

async function listAddresses(client: KeyClient): Promise<string[]> {
  const found: string[] = [];
  for await (const page of client.pages.listHeldAddresses()) {
    for (const one of page.data.addresses) {
      if (one.rules_count + one.filters_count > 0) found.push(one.ip);
    }
  }
  return found;
}
