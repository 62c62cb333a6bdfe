export type Direction = 'north' | 'south' | 'east' | 'west';

export interface Room {
  readonly title: string;
  readonly text: string;
  readonly exits: Readonly<Partial<Record<Direction, string>>>;
  /** Items that lie here in a new world. */
  readonly items: readonly string[];
}

export const START = 'hall';

export const ROOMS: Readonly<Record<string, Room>> = {
  hall: {
    title: 'The hall',
    text: 'A fire burns in the hearth. Benches stand around it, and somebody left boots to dry.',
    exits: { north: 'tower', east: 'kitchen', south: 'gate' },
    items: ['boots'],
  },
  kitchen: {
    title: 'The kitchen',
    text: 'Copper pans hang from the beams. It smells of bread.',
    exits: { west: 'hall', north: 'cellar' },
    items: ['bread', 'ladle'],
  },
  cellar: {
    title: 'The cellar',
    text: 'Barrels, cobwebs, and a cold draught from somewhere behind them.',
    exits: { south: 'kitchen' },
    items: ['lantern'],
  },
  tower: {
    title: 'The tower',
    text: 'Narrow windows look out on every side. Far below, the road is a grey thread.',
    exits: { south: 'hall' },
    items: ['spyglass'],
  },
  gate: {
    title: 'The gate',
    text: 'An iron portcullis, raised for now. Beyond it the road runs into the trees.',
    exits: { north: 'hall', south: 'road' },
    items: [],
  },
  road: {
    title: 'The road',
    text: 'Trees on both sides. Behind you, smoke rises from the chimney of the house.',
    exits: { north: 'gate' },
    items: ['stone', 'stick'],
  },
};

export function isDirection(text: string): text is Direction {
  return text === 'north' || text === 'south' || text === 'east' || text === 'west';
}
