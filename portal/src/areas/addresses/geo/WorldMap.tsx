import { geoMessages } from '../../../messages/geo.ts';
import { nameOf } from './country-names.ts';
import { WORLD, WORLD_SIZE } from './world.ts';

const text = geoMessages;
const MAX_SAID = 20;

interface Props {
  readonly marked: ReadonlySet<string>;
  /** Whether what is marked is dropped, or all else is. */
  readonly action: 'deny' | 'only';
  /** A click on a country; the list beside the map does the same by keyboard. */
  onToggle?(code: string): void;
}

/** The world, with the chosen countries in the colour of what happens to them. */
export function WorldMap({ marked, action, onToggle }: Props) {
  const names = [...marked].slice(0, MAX_SAID).map(nameOf).join(', ');
  return (
    <svg
      className="world"
      data-action={action}
      data-clickable={onToggle === undefined ? undefined : ''}
      viewBox={`0 0 ${WORLD_SIZE.width} ${WORLD_SIZE.height}`}
      role="img"
      aria-label={names === '' ? text.mapNone : text.map(names)}
    >
      {WORLD.map(({ code, path }) =>
        code === null ? (
          <path key={path} d={path} />
        ) : (
          <path
            key={code}
            d={path}
            data-code={code}
            data-marked={marked.has(code) ? '' : undefined}
            onClick={() => onToggle?.(code)}
          >
            <title>{nameOf(code)}</title>
          </path>
        ),
      )}
    </svg>
  );
}
