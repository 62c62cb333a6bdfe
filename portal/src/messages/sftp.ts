/** The words of SFTP on the page of the account, which are read when it is opened. */
export const sftpMessages = {
  title: 'SFTP',
  lead: 'Keys and passwords by which you connect to the files of servers. The password of the account does not work there.',
  empty: {
    title: 'No keys or passwords yet',
    text: 'Add the public key of your computer, or make a password for a program that takes no key.',
  },
  addKey: 'Add an SSH key',
  key: 'Public key',
  keyText: 'The line of a .pub file, such as ~/.ssh/id_ed25519.pub.',
  makePassword: 'Make a password',
  name: 'Name',
  namePlaceholder: 'Such as “laptop”',
  days: 'Days until it ends',
  made: (name: string) => `The SFTP password “${name}”`,
  madeText:
    'The user is your email, a dot, and the first eight characters of the id of a server. If this password is lost, delete it and make another one.',
  added: 'Added',
  used: 'used',
  ends: 'ends',
  remove: 'Delete',
  removeOf: (name: string) => `Delete ${name}`,
  removeTitle: (name: string) => `Delete “${name}”?`,
  removeText: 'It no longer connects, and what is connected by it ends now.',
  /** The page of a server. */
  place: {
    title: 'Connect by SFTP',
    lead: 'With FileZilla, WinSCP or any other program for SFTP. Links in the folder are shown and not followed.',
    refused: 'SFTP is not open to you',
    none: {
      title: 'No SFTP',
      text: 'The node of this server serves no SFTP, or has not reported it yet. Its operator starts it with --sftp-listen, of “portcullis up” or “portcullis node”.',
    },
    copy: 'Copy the address',
    host: 'Host',
    port: 'Port',
    user: 'User',
    anyUser: (server: string) => `email of the person, then .${server}`,
    hostKey: 'Key of the host',
    hostKeyText:
      'At the first connection your program shows the key of the host. Accept it only if it is this one.',
    access: 'You connect with an SSH key or an SFTP password.',
    account: 'Add one to your account',
  },
} as const;
