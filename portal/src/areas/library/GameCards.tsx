import type { ReactNode } from 'react';
import { libraryMessages as text } from '../../messages/library.ts';
import { GameIcon } from './GameIcon.tsx';

export interface Game {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly author: string | null;
  readonly icon: string | null;
}

interface Props<One extends Game> {
  readonly games: readonly One[];
  /** Marks and buttons of a game. */
  readonly footOf: (game: One) => ReactNode;
}

/** Games as cards: icon, title, description, and what can be done with each. */
export function GameCards<One extends Game>({ games, footOf }: Props<One>) {
  return (
    <ul className="games">
      {games.map((game) => (
        <li key={game.name} className="game">
          <div className="game-head">
            <GameIcon title={game.title} icon={game.icon} />
            <div>
              <h3>{game.title}</h3>
              {game.author !== null && <div className="dim">{text.by(game.author)}</div>}
            </div>
          </div>
          <p className="game-text">{game.description}</p>
          <div className="row game-foot">{footOf(game)}</div>
        </li>
      ))}
    </ul>
  );
}

/** The texts by which a game is found. */
export function fieldsOfGame({ name, title, description, author }: Game): readonly string[] {
  return [name, title, description, author ?? ''];
}
