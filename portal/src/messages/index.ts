import { accountMessages } from './account.ts';
import { addressMessages } from './addresses.ts';
import { addressTabMessages } from './address-tabs.ts';
import { attackMessages } from './attacks.ts';
import { groupMessages } from './groups.ts';
import { operatorMessages } from './operator.ts';
import { serverMessages } from './servers.ts';
import { settingsMessages } from './settings.ts';
import { shellMessages } from './shell.ts';
import { webhookMessages } from './webhooks.ts';

/** Every word that the portal shows, in one folder for translations. Functions take what differs. */
export const messages = {
  ...shellMessages,
  ...accountMessages,
  ...addressMessages,
  ...addressTabMessages,
  ...attackMessages,
  ...groupMessages,
  ...serverMessages,
  ...settingsMessages,
  ...operatorMessages,
  ...webhookMessages,
} as const;
