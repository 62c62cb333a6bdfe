import type { Namespace } from '../stack/netns.ts';

/** Packets of a flood, enough to tell that it goes on. */
const ENOUGH = 3_000;
const LOOK_MS = 50;
const PATIENCE_MS = 20_000;

/** How much of a flood that goes on arrived, of what left the device meanwhile. */
export interface Arrived {
  readonly left: number;
  readonly arrived: number;
  readonly seconds: number;
}

/**
 * Whether a flood that goes on has arrived and arrives no more: so many packets left the device, and not one came. A sender
 * that the machine keeps waiting sends nothing either, for longer than one might think.
 */
export async function isCutOff(
  from: Namespace,
  device: string,
  arrived: () => number,
): Promise<boolean> {
  const before = arrived();
  return (await arrivedOf(from, device, async () => arrived())).arrived === 0 && before > 0;
}

/** Packets that arrive while enough packets leave the device to tell, and for at least `leastMs`. */
export async function arrivedOf(
  from: Namespace,
  device: string,
  arrived: () => Promise<number>,
  { enough = ENOUGH, leastMs = 0 } = {},
): Promise<Arrived> {
  const [cameBefore, leftBefore, beganMs] = [
    await arrived(),
    leftBy(from, device),
    performance.now(),
  ];
  const left = (): number => leftBy(from, device) - leftBefore;
  while (left() < enough || performance.now() - beganMs < leastMs) {
    if (performance.now() - beganMs > PATIENCE_MS) throw new Error('the flood does not go on');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  const seconds = (performance.now() - beganMs) / 1000;
  return { left: left(), arrived: (await arrived()) - cameBefore, seconds };
}

function leftBy(from: Namespace, device: string): number {
  const shown = from.run('ip', '-s', '-json', 'link', 'show', 'dev', device);
  const [link] = JSON.parse(shown) as { readonly stats64: { readonly tx: { packets: number } } }[];
  return link?.stats64.tx.packets ?? 0;
}
