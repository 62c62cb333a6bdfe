import { NotFoundError, PermissionError } from '@portcullis/client/errors.ts';
import type { OpenTo } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';

/** A port of an address. */
export interface AddressPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** To whom the port is open; a sentence where the key may not know. */
export async function loadOpenTo(
  client: KeyClient,
  { ip, port, protocol }: AddressPort,
): Promise<OpenTo | string> {
  try {
    const body = { protocol, destination_port: port };
    const { open_to: open } = (await client.explainPacket({ ip, body })).data;
    return open ?? 'unknown';
  } catch (error) {
    if (error instanceof NotFoundError) return 'not one of your addresses, so nothing filters it';
    if (error instanceof PermissionError) return 'this key may not read the firewall';
    throw error;
  }
}

export const OPEN_TO: Readonly<Record<string, string>> = {
  everyone: 'open',
  most: 'open, but not to all',
  some: 'open to some sources',
  nobody: 'closed',
};

export const PROPAGATION: Readonly<Record<string, string>> = {
  live: '',
  pending: 'On its way to edges: one does something else yet.',
  unenforced: 'No edge enforces it now, so every packet passes until one does.',
};
