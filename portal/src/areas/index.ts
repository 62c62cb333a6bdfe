import { type LucideIcon, Network } from 'lucide-react';
import { messages } from '../messages.ts';

/** An entry of the navigation. README.md says how to add one. */
export interface Area {
  readonly path: '/addresses';
  readonly title: string;
  readonly icon: LucideIcon;
  /** The key that goes there after `g`. */
  readonly letter: string;
}

export const AREAS: readonly Area[] = [
  { path: '/addresses', title: messages.addresses.title, icon: Network, letter: 'a' },
];
