import { type FilterType, findFilter } from './catalogue.ts';
import type { Transport } from './filter.ts';

/** Protocols by the names that the community gives its eggs. The first that fits. */
const NAMES: readonly (readonly [RegExp, FilterType])[] = [
  [/bedrock|pocketmine|nukkit|geyser/i, 'minecraft-bedrock'],
  [
    /minecraft|paper|purpur|spigot|bukkit|sponge|forge|fabric|quilt|velocity|waterfall|bungeecord/i,
    'minecraft-java',
  ],
  [
    /garry|counter.?strike|\bcs[ :]?(?:go|2|s)\b|team fortress|left 4 dead|half.?life|srcds/i,
    'source',
  ],
  [/teeworlds|ddnet/i, 'teeworlds'],
  [/luanti|minetest/i, 'luanti'],
  [/openttd/i, 'openttd'],
  [/quake|openarena|ioq3|call of duty/i, 'quake3'],
  [/terraria|tshock|tmodloader/i, 'terraria'],
  [/\brust\b/i, 'rust'],
  [/fivem|redm|cfx/i, 'fivem'],
  [/\bsa-?mp\b|open\.?mp/i, 'samp'],
  [/teamspeak/i, 'teamspeak3'],
  [/mumble|murmur/i, 'mumble'],
];

const ANY = { tcp: 'tcp-syn-proxy', udp: 'udp-stateful' } as const;

/**
 * Returns the filter for a port of a server: a filter that the egg names, else the filter of the game in the name of the
 * egg, else the filter that fits any server.
 */
export function filterOfEgg(
  egg: { readonly name: string; readonly filters: readonly FilterType[] },
  transport: Transport,
): FilterType {
  const byName = NAMES.find(([name]) => name.test(egg.name))?.[1];
  const wanted = egg.filters.length > 0 ? egg.filters : [byName ?? ANY[transport]];
  return wanted.find((type) => findFilter(type)?.[transport]) ?? ANY[transport];
}
