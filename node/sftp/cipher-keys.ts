import { createSecretKey, type KeyObject } from 'node:crypto';
import type ssh2 from 'ssh2';

/** The parts of the library's connection that it does not show: keys for packets of each direction. */
interface ConnectionInside {
  readonly _protocol: {
    readonly _cipher: { _encKey?: Uint8Array | KeyObject; _macKey?: Uint8Array | KeyObject };
    readonly _decipher: { _decipherKey?: Uint8Array | KeyObject; _macKey?: Uint8Array | KeyObject };
  };
}

/**
 * Lets Node prepare the keys of a connection once. The library passes their bytes for each packet, which costs ten times what the
 * cipher of a small packet does. Called whenever the connection has new keys.
 */
export function prepareKeys(client: ssh2.Connection): void {
  const { _cipher: cipher, _decipher: decipher } = (client as unknown as ConnectionInside)
    ._protocol;
  // A direction has a key for a cipher with authentication, or another one for its authentication alone.
  if (cipher._encKey instanceof Uint8Array) cipher._encKey = createSecretKey(cipher._encKey);
  if (cipher._macKey instanceof Uint8Array) cipher._macKey = createSecretKey(cipher._macKey);
  if (decipher._decipherKey instanceof Uint8Array)
    decipher._decipherKey = createSecretKey(decipher._decipherKey);
  if (decipher._macKey instanceof Uint8Array) decipher._macKey = createSecretKey(decipher._macKey);
}
