import { CONTINENTS } from '@portcullis/core/net/countries.ts';
import { messages } from '../../../messages/index.ts';

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

/** By name, in each of the continents by name. */
const ALL: readonly Continent[] = (Object.keys(CONTINENTS) as Continent['id'][]).map((id) => ({
  id,
  name: messages.geo.continents[id],
  countries: CONTINENTS[id]
    .map((code) => ({ code, name: nameOf(code) }))
    .toSorted((a, b) => a.name.localeCompare(b.name)),
}));

/** The continents with the countries whose name or code has every word; without those that have none. */
export function searchCountries(search: string): readonly Continent[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return ALL;
  const matches = (continent: string) => (country: Country) => {
    const text = `${country.name} ${country.code} ${continent}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return ALL.map(({ countries, ...continent }) => ({
    ...continent,
    countries: countries.filter(matches(continent.name)),
  })).filter(({ countries }) => countries.length > 0);
}
