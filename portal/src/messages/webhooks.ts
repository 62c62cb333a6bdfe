import { many } from './many.ts';

const STATES: Readonly<Record<string, string>> = {
  pending: 'Waiting',
  delivered: 'Delivered',
  failed: 'Failed',
  skipped: 'Skipped',
};

export const webhookMessages = {
  webhooks: {
    title: 'Webhooks',
    lead: 'Events are sent to your URL as they happen, signed as Standard Webhooks describes, and retried for a day. URLs of Discord and Slack get sentences for people.',
    format: (format: string) =>
      ({ discord: 'Discord', slack: 'Slack' })[format] ?? 'Standard Webhooks',
    create: 'Add a webhook',
    save: 'Save the webhook',
    name: 'Name',
    namePlaceholder: 'Such as “pager”',
    url: 'URL',
    events: 'Events',
    eventNames: {
      'attack.opened': 'Attack started',
      'attack.mitigated': 'Attack mitigated',
      'attack.ended': 'Attack ended',
      'attack.looks_usual': 'Attack that looks like usual traffic',
      'server.state': 'Server state changed',
      'server.crashed': 'Server crashed',
      'propagation.failed': 'Propagation failed',
    } as Readonly<Record<string, string>>,
    enabled: 'Enabled',
    disabled: 'Disabled',
    pending: (count: number) => `${many(count, 'delivery', 'deliveries')} waiting`,
    test: 'Send a test',
    edit: 'Edit',
    enable: 'Enable',
    disable: 'Disable',
    rotate: 'New secret',
    rotateTitle: (name: string) => `A new secret for “${name}”?`,
    rotateText:
      'For 24 hours deliveries are signed with both secrets, so that your receiver can change over.',
    remove: 'Delete',
    removeTitle: (name: string) => `Delete “${name}”?`,
    removeText:
      'Its deliveries are deleted too, including those that are waiting. This cannot be undone.',
    why: (reason: string) => `Disabled: ${reason}`,
    twoSecrets: (until: string) => `Signed with the previous secret too, until ${until}.`,
    secretTitle: 'Secret of the signatures',
    secretText:
      'Your receiver checks the header webhook-signature with it. If it is lost, make a new one.',
    showLog: 'Show deliveries',
    hideLog: 'Hide deliveries',
    empty: {
      title: 'No webhooks yet',
      text: 'Add one to hear about attacks and crashes in a chat, a pager or your own program.',
    },
    log: {
      title: (name: string) => `Deliveries of ${name}`,
      show: 'Show',
      kept: 'Kept for seven days.',
      states: { all: 'All', pending: 'Waiting', delivered: 'Delivered', failed: 'Failed' },
      stateName: (state: string) => STATES[state] ?? state,
      columns: {
        event: 'Event',
        target: 'About',
        state: 'State',
        attempts: 'Attempts',
        at: 'When',
        actions: 'Actions',
      },
      result: (status: number | null, error: string | null, ms: number) =>
        `${[status, error].filter((part) => part !== null).join(' ')} (${ms} ms)`,
      next: 'next',
      redeliver: 'Send again',
      isPending: 'It is still being retried.',
      isDisabled: 'Enable the webhook first.',
      older: 'Older deliveries',
      empty: {
        title: 'Nothing sent yet',
        text: 'Send a test to see whether your receiver answers.',
      },
    },
  },
} as const;
