import { geoEqualEarth, geoPath } from 'd3-geo';
import { iso31661NumericToAlpha2 } from 'iso-3166';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import atlas from 'world-atlas/countries-110m.json' with { type: 'json' };

export interface Outline {
  /** ISO 3166-1 alpha-2, or XK for Kosovo. Null: a territory without a code, which is drawn and cannot be chosen. */
  readonly code: string | null;
  /** The `d` of an SVG path. */
  readonly path: string;
}

/** The size of the picture that the outlines are drawn for. */
export const WORLD_SIZE = { width: 1000, height: 431 } as const;

/** Countries without codes in the atlas. */
const CODES: Readonly<Record<string, string>> = { Kosovo: 'XK' };
const ANTARCTICA = '010';

/** Outlines of countries from Natural Earth 1:110m (public domain); the smallest countries and Antarctica have none. */
export const WORLD: readonly Outline[] = drawWorld();

function drawWorld(): Outline[] {
  const topology = atlas as unknown as Topology<{
    countries: GeometryCollection<{ name: string }>;
  }>;
  const { features } = feature(topology, topology.objects.countries);
  const countries = features.filter(({ id }) => id !== ANTARCTICA);
  const projection = geoEqualEarth().fitSize([WORLD_SIZE.width, WORLD_SIZE.height], {
    type: 'FeatureCollection',
    features: countries,
  });
  const draw = geoPath(projection).digits(1);
  return countries.map((country) => ({
    code: iso31661NumericToAlpha2[String(country.id)] ?? CODES[country.properties.name] ?? null,
    path: draw(country) ?? '',
  }));
}
