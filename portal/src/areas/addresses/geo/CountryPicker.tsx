import { Button, Checkbox } from '@mantine/core';
import { useMemo, useState } from 'react';
import { SearchField } from '../../../components/list/SearchField.tsx';
import { geoMessages } from '../../../messages/geo.ts';
import { type Continent, searchCountries } from './country-names.ts';
import { WorldMap } from './WorldMap.tsx';

const text = geoMessages;

interface Props {
  readonly chosen: readonly string[];
  readonly action: 'deny' | 'only';
  onChange(chosen: readonly string[]): void;
}

/** Countries by map and by list; both show the same choice. */
export function CountryPicker({ chosen, action, onChange }: Props) {
  const [search, setSearch] = useState('');
  const marked = useMemo(() => new Set(chosen), [chosen]);
  const continents = useMemo(() => searchCountries(search), [search]);
  const toggle = (code: string): void =>
    onChange(marked.has(code) ? chosen.filter((each) => each !== code) : [...chosen, code]);
  return (
    <div className="country-picker">
      <WorldMap marked={marked} action={action} onToggle={toggle} />
      <div className="stack">
        <SearchField label={text.searchCountries} value={search} onChange={setSearch} />
        <span className="dim" role="status">
          {text.chosen(chosen.length)}
        </span>
        <div className="countries" role="group" aria-label={text.countries} tabIndex={0}>
          {continents.length === 0 && <span className="dim">{text.noCountry}</span>}
          {continents.map((continent) => (
            <ContinentList
              key={continent.id}
              continent={continent}
              marked={marked}
              onToggle={toggle}
              onAll={(codes, isChosen) => {
                const others = chosen.filter((code) => !codes.includes(code));
                onChange(isChosen ? [...others, ...codes] : others);
              }}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

interface ListProps {
  readonly continent: Continent;
  readonly marked: ReadonlySet<string>;
  onToggle(code: string): void;
  onAll(codes: readonly string[], isChosen: boolean): void;
}

function ContinentList({ continent, marked, onToggle, onAll }: ListProps) {
  const { name, countries } = continent;
  const isWhole = countries.every(({ code }) => marked.has(code));
  return (
    <fieldset>
      <legend className="row">
        {name}
        <Button
          size="compact-xs"
          variant="subtle"
          aria-label={`${name}: ${isWhole ? text.none : text.all}`}
          onClick={() =>
            onAll(
              countries.map(({ code }) => code),
              !isWhole,
            )
          }
        >
          {isWhole ? text.none : text.all}
        </Button>
      </legend>
      <div className="country-list">
        {countries.map(({ code, name: country }) => (
          <Checkbox
            key={code}
            size="xs"
            checked={marked.has(code)}
            onChange={() => onToggle(code)}
            label={
              <>
                <span className="mono dim">{code} </span>
                {country}
              </>
            }
          />
        ))}
      </div>
    </fieldset>
  );
}
