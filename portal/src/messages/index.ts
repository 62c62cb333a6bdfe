import { accountMessages } from './account.ts';
import { addressMessages } from './addresses.ts';
import { addressTabMessages } from './address-tabs.ts';
import { attackMessages } from './attacks.ts';
import { groupMessages } from './groups.ts';
import { serverMessages } from './servers.ts';
import { settingsMessages } from './settings.ts';
import { shellMessages } from './shell.ts';

/** Every word that the portal shows, but those of operators and of pages that are read when they are opened. All are in this folder, for translations; functions take what differs. */
export const messages = {
  ...shellMessages,
  ...accountMessages,
  ...addressMessages,
  ...addressTabMessages,
  ...attackMessages,
  ...groupMessages,
  ...serverMessages,
  ...settingsMessages,
} as const;
