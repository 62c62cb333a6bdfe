import type { Namespace } from '../stack/netns.ts';

/** Of a flood, enough to tell that it goes on. */
const ENOUGH = 3_000;
const LOOK_MS = 50;
const PATIENCE_MS = 20_000;

/**
 * Whether a flood that goes on has arrived and arrives no more: so many packets left the device, and not one came. A sender
 * that the machine keeps waiting sends nothing either, for longer than one might think.
 */
export async function isCutOff(
  from: Namespace,
  device: string,
  arrived: () => number,
): Promise<boolean> {
  const [cameBefore, leftBefore] = [arrived(), leftBy(from, device)];
  const deadline = performance.now() + PATIENCE_MS;
  while (leftBy(from, device) - leftBefore < ENOUGH) {
    if (performance.now() > deadline) throw new Error('the flood does not go on');
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  return cameBefore > 0 && arrived() === cameBefore;
}

function leftBy(from: Namespace, device: string): number {
  const shown = from.run('ip', '-s', '-json', 'link', 'show', 'dev', device);
  const [link] = JSON.parse(shown) as { readonly stats64: { readonly tx: { packets: number } } }[];
  return link?.stats64.tx.packets ?? 0;
}
