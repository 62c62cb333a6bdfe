import { EngineError } from '../../engine.ts';

/** Docker answered, and it was no. `message` is Docker's own. */
export class DockerRefusal extends Error {
  override readonly name = 'DockerRefusal';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const PORT_TAKEN = /address already in use|port is already allocated/i;
const ADDRESS_MISSING = /cannot assign requested address/i;
/** `listen tcp4 192.0.2.1:80: bind:`, `listen udp [2001:db8::1]:80`, `Bind for 192.0.2.1:80 failed`. */
const BOUND =
  /(?:listen (?<protocol>tcp|udp)[46]?|[Bb]ind for) (?<ip>\[[^\]]{1,45}\]|[\d.]{7,15}):(?<port>\d{1,5})/;
const NO_SUBNET = /non-overlapping IPv[46] address pool/i;
/** What is shown of a message that nobody foresaw. */
const SHOWN = 500;

/** Whether Docker refused because it has no network of this name: 20 says so at the start, newer ones also before. */
export function isMissingNetwork(error: unknown, name: string): boolean {
  return (
    error instanceof DockerRefusal &&
    error.status === 404 &&
    error.message.includes(`network ${name} not found`)
  );
}

/** What Docker's refusal means, in words for people; null for what is no refusal of Docker's. */
export function describeRefusal(error: unknown): EngineError | null {
  if (!(error instanceof DockerRefusal)) return null;
  const { message, status } = error;
  const { ip = 'an address', port = '?', protocol = '' } = BOUND.exec(message)?.groups ?? {};
  const told = (code: EngineError['code'], text: string): EngineError =>
    new EngineError(code, text, { cause: error });
  if (PORT_TAKEN.test(message))
    return told(
      'port_taken',
      `Port ${port}${protocol && `/${protocol}`} of ${ip} is in use by something else on this node.`,
    );
  if (ADDRESS_MISSING.test(message))
    return told('address_missing', `This node does not have the address ${ip}.`);
  if (NO_SUBNET.test(message))
    return told(
      'refused',
      'Docker has no subnet left for another network: give it more in default-address-pools.',
    );
  const code = status === 404 ? 'not_found' : 'refused';
  return told(code, `Docker refused: ${message.slice(0, SHOWN)}`);
}

/** Runs it, and rejects with nothing but `EngineError`. */
export async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw describeRefusal(error) ?? error;
  }
}
