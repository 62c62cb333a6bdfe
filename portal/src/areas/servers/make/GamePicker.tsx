import { Input } from '@mantine/core';
import { useState } from 'react';
import { searchRows } from '../../../components/list/columns.ts';
import { SearchField } from '../../../components/list/SearchField.tsx';
import { serverMakingMessages as text } from '../../../messages/servers/making.ts';
import { fieldsOfGame } from '../../library/GameCards.tsx';
import { GameIcon } from '../../library/GameIcon.tsx';
import type { Offered } from './draft.ts';

interface Props {
  readonly games: readonly Offered[];
  /** '': none. */
  readonly value: string;
  onChange(egg: string): void;
}

/** More are searched rather than looked through. */
const FEW = 6;

/** The games of the library, to choose one. */
export function GamePicker({ games, value, onChange }: Props) {
  const [typed, setTyped] = useState('');
  const shown = searchRows(games, typed, fieldsOfGame);
  return (
    <Input.Wrapper label={text.game} required labelElement="div">
      {games.length > FEW && <SearchField label={text.search} value={typed} onChange={setTyped} />}
      <div className="eggs" role="radiogroup" aria-label={text.game}>
        {shown.map(({ name, title, description, icon }) => (
          <label key={name} className="egg" data-chosen={value === name || undefined}>
            <input
              type="radio"
              name="game"
              checked={value === name}
              onChange={() => onChange(name)}
            />
            <GameIcon title={title} icon={icon} />
            <span className="egg-text">
              <span className="strong">{title}</span>
              <span className="dim">{description}</span>
            </span>
          </label>
        ))}
      </div>
      {shown.length === 0 && <p className="dim">{text.noGame}</p>}
    </Input.Wrapper>
  );
}
