import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { LackKind } from '@portcullis/core/game-servers/placement.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { variableView } from '../game-servers/index.ts';
import type { LibraryEntry, ServerPlace } from '../operator/index.ts';

/** Sentences for people who may not read how much a node has, and who hold no part of it. */
const LACKS: Readonly<Record<LackKind, string>> = {
  connection: 'It is not connected now.',
  engine: 'It cannot run this game yet: its operator can say why.',
  address: 'It has no address for it.',
  memory: 'It has too little memory left.',
  disk: 'It has too little disk left.',
  port: 'It has no free port.',
};

export function placeView({ node, lack }: ServerPlace) {
  return { node, fits: lack === null, reason: lack === null ? null : LACKS[lack] };
}

/** The variables that owners set. The others have the defaults of the egg. */
export function ownVariables({ variables }: Pick<Egg, 'variables'>): Egg['variables'] {
  return variables.filter(({ viewable, editable }) => viewable && editable);
}

export function offeredView({ name, found }: LibraryEntry) {
  const { egg, icon, author } = found;
  return {
    name,
    title: egg.name,
    description: egg.description,
    author,
    icon,
    images: egg.images.map(({ label }) => label),
    variables: ownVariables(egg).map((variable) => ({
      ...variableView(variable),
      viewable: true,
      editable: true,
    })),
    protocols: egg.protocols,
    filters: egg.filters.map((type) => ({ type, name: findFilter(type)?.name ?? type })),
  };
}
