import { CONTINENTS } from '@portcullis/core/net/countries.ts';
import { searchRows } from '../../../components/list/columns.ts';
import { geoMessages } from '../../../messages/geo.ts';

const NAMES = new Intl.DisplayNames('en', { type: 'region' });

export function nameOf(code: string): string {
  return NAMES.of(code) ?? code;
}

export interface Country {
  readonly code: string;
  readonly name: string;
}

export interface Continent {
  readonly id: keyof typeof CONTINENTS;
  readonly name: string;
  readonly countries: readonly Country[];
}

/** Countries by name, in each of the continents by name. */
const ALL: readonly Continent[] = (Object.keys(CONTINENTS) as Continent['id'][]).map((id) => ({
  id,
  name: geoMessages.continents[id],
  countries: CONTINENTS[id]
    .map((code) => ({ code, name: nameOf(code) }))
    .toSorted((a, b) => a.name.localeCompare(b.name)),
}));

/** The continents with the countries whose name or code has every word; without those that have none. */
export function searchCountries(search: string): readonly Continent[] {
  return ALL.map(({ countries, ...continent }) => ({
    ...continent,
    countries: searchRows(countries, search, ({ code, name }) => [name, code, continent.name]),
  })).filter(({ countries }) => countries.length > 0);
}
