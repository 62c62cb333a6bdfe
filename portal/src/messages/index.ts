import { accountMessages } from './account.ts';
import { addressMessages } from './addresses.ts';
import { addressTabMessages } from './address-tabs.ts';
import { attackMessages } from './attacks.ts';
import { groupMessages } from './groups.ts';
import { serverMessages } from './servers.ts';
import { settingsMessages } from './settings.ts';
import { shellMessages } from './shell.ts';
import { webhookMessages } from './webhooks.ts';

/** Every word that the portal shows, but those of operators. All are in this folder, for translations; functions take what differs. */
export const messages = {
  ...shellMessages,
  ...accountMessages,
  ...addressMessages,
  ...addressTabMessages,
  ...attackMessages,
  ...groupMessages,
  ...serverMessages,
  ...settingsMessages,
  ...webhookMessages,
} as const;
