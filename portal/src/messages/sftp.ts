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
} as const;
