import { type LucideIcon, Network, Server } from 'lucide-react';
import type { LinkProps } from '@tanstack/react-router';
import { messages } from '../messages/index.ts';

/** An entry of the navigation. README.md says how to add one. */
export interface Area {
  readonly path: NonNullable<LinkProps['to']>;
  readonly title: string;
  readonly icon: LucideIcon;
  /** The key that goes there after `g`. */
  readonly letter: string;
}

export const AREAS: readonly Area[] = [
  { path: '/addresses', title: messages.addresses.title, icon: Network, letter: 'a' },
  { path: '/servers', title: messages.servers.title, icon: Server, letter: 's' },
];
