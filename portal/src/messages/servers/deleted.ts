import { many } from '../many.ts';

/** Deleted servers whose files are still on their nodes, which operators see. */
export const deletedServerMessages = {
  title: 'Deleted servers',
  lead: 'Their files are still on their nodes. Restore one, or let its node purge it.',
  about: (organisation: string, node: string) => `of ${organisation}, on ${node}`,
  left: (days: number | null) => {
    if (days === null) return 'kept until it is purged';
    return days === 0 ? 'is being purged' : `purged in ${many(days, 'day', 'days')}`;
  },
  moved: 'moved to another node',
  restore: 'Restore',
  restoreOf: (name: string) => `Restore ${name}`,
  restoreTitle: (name: string) => `Restore ${name}?`,
  restoreText:
    'With its files and settings as they were. It is not started. People who had rights to it have them again.',
  purge: 'Purge',
  purgeOf: (name: string) => `Purge ${name}`,
  purgeTitle: (name: string) => `Purge the files of ${name}?`,
  purgeText: 'They are deleted for good. A node that is away does it when it is back.',
  over: 'Its time is over.',
  elsewhere: 'It lives on another node now.',
} as const;
