import { many } from './many.ts';

export const accountMessages = {
  passkeys: {
    signIn: 'Sign in with a passkey',
    unsupported: 'Passkeys need a browser that has them, and https or localhost.',
    address:
      'Passkeys work only with a host name. Open this page by its name, not by an IP address.',
  },
  account: {
    title: 'Account',
    profile: {
      title: 'Name',
      lead: 'Other members see it, and the history shows it.',
      name: 'Your name',
      save: 'Save the name',
      saved: 'Saved.',
    },
    password: {
      title: 'Password',
      lead: 'A new password ends all your other sessions, and makes links for a new password void.',
      current: 'Current password',
      next: 'New password',
      save: 'Change the password',
      saved: (passkeys: readonly string[]) =>
        passkeys.length === 0
          ? 'Changed. Other sessions have ended.'
          : `Changed. Other sessions have ended. These passkeys still sign in, so delete those that are not yours: ${passkeys.join(', ')}.`,
    },
    totp: {
      title: 'Authenticator app',
      lead: 'Asks for a code from your phone after the password.',
      on: 'On',
      off: 'Off',
      left: (count: number) => `${many(count, 'recovery code', 'recovery codes')} left`,
      few: 'Few recovery codes are left. Make new ones, or you may be locked out without your phone.',
      setUp: 'Set up an app',
      setUpText: 'You need an app that makes codes, such as a password manager or Aegis.',
      next: 'Continue',
      scan: 'Scan this with the app, or type the secret into it.',
      qr: 'QR code of the secret beside it',
      secret: 'Secret',
      copySecret: 'Copy the secret',
      code: 'Code from the app',
      codeHint: 'Six digits. The first correct code turns the app on and ends your other sessions.',
      turnOn: 'Turn it on',
      renew: 'New recovery codes',
      renewText: 'The previous ones stop working at once.',
      remove: 'Turn it off',
      removeTitle: 'Turn the app off?',
      removeText: 'Your password alone will sign you in, and the recovery codes stop working.',
      codesTitle: 'Recovery codes',
      codesText:
        'Each one signs you in once, instead of a code from the app. Keep them where you can reach them without your phone.',
    },
    passkeys: {
      title: 'Passkeys',
      lead: 'Sign in with a fingerprint, your face or a security key, without password and code.',
      add: 'Add a passkey',
      addText: 'Your browser asks next where to keep it.',
      next: 'Continue',
      name: 'Name',
      namePlaceholder: 'Such as “laptop”',
      defaultName: 'Passkey',
      added: 'Added',
      used: 'used',
      remove: 'Remove',
      removeOf: (name: string) => `Remove ${name}`,
      removeTitle: (name: string) => `Remove “${name}”?`,
      removeText:
        'It can no longer sign you in. Delete it on the device too. This cannot be undone.',
      empty: {
        title: 'No passkeys yet',
        text: 'A passkey cannot be phished, and is quicker than a password.',
      },
    },
    sessions: {
      title: 'Sessions',
      lead: 'Where you are signed in. End a session that you do not recognise, then change your password.',
      browser: 'Browser',
      source: 'From',
      began: 'Signed in',
      seen: 'Last seen',
      actions: 'Actions',
      agent: (browser: string | null, system: string | null) => {
        if (browser === null) return system ?? 'Another program';
        return system === null ? browser : `${browser} on ${system}`;
      },
      unknown: 'unknown',
      current: 'This browser',
      end: 'End',
    },
  },
} as const;
