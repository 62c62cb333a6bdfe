import type { Egg, EggImage } from '../egg.ts';
import type { ServerAssignment } from '../power.ts';

/** An image and a startup line in place of the egg's: only an operator sets them. */
export type OwnStart = Pick<ServerAssignment, 'dockerImage' | 'startup'>;

/** The egg of a server with the image and startup line that the server has in place of its egg's. */
export function withOwnStart<E extends Pick<Egg, 'images' | 'startup'>>(
  egg: E,
  { dockerImage, startup }: OwnStart,
): E {
  const images = dockerImage === null ? egg.images : [imageOf(dockerImage)];
  return { ...egg, images, startup: startup ?? egg.startup };
}

/** The label is that of no image of an egg, so a label that the server has too chooses this one. */
function imageOf(text: string): EggImage {
  const local = text.startsWith('~');
  return { label: text, reference: local ? text.slice(1) : text, local };
}
