const MAX_NAME = 63;

/** A name for the library by the title of an egg: `Forge Minecraft` is `forge-minecraft`. */
export function nameFrom(title: string): string {
  return title
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, MAX_NAME);
}
