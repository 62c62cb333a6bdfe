import type { KeyClient } from '@portcullis/client/types.ts';
import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { failed } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { localTime, print, printable, printJson, printTable } from '../../output.ts';
import { findUuid } from './find.ts';

export function addPeople(servers: Command): void {
  const people = servers
    .command('people')
    .description('who has rights to one server')
    .addHelpText(
      'after',
      `
  portcullis servers people list Survival
  portcullis servers people rights                             every right, and what it lets do
  portcullis servers people invite Survival friend@example.net control.console control.restart
  portcullis servers people set Survival friend@example.net control.restart
  portcullis servers people remove Survival friend@example.net

Nobody gives a right that he lacks. Rights that end, end open consoles within a second.`,
    );
  withCallOptions(
    people.command('list').description('people and open invitations').argument('<server>'),
  ).action(listPeople);
  withCallOptions(
    people.command('rights').description('every right, by group').argument('[server]'),
  ).action(listRights);
  withCallOptions(
    people
      .command('invite')
      .description('make a link that works once; it is mailed too where the operator set up mail')
      .argument('<server>')
      .argument('<email>')
      .argument('<rights...>'),
  ).action(invite);
  withCallOptions(
    people
      .command('set')
      .description('give a person exactly these rights')
      .argument('<server>')
      .argument('<email>')
      .argument('<rights...>'),
  ).action(setRights);
  withCallOptions(
    people
      .command('remove')
      .description('take all rights to the server away, or withdraw the invitation')
      .argument('<server>')
      .argument('<email>'),
  ).action(removePerson);
}

async function listPeople(server: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { people, invitations } = (await client.listServerPeople({ slice })).data;
  if (options.json === true) {
    printJson({ people, invitations });
    return;
  }
  if (people.length + invitations.length === 0) {
    print('Nobody but members of the organisation, who have rights by their role.');
    return;
  }
  await printTable(
    ['EMAIL', 'NAME', 'SINCE', 'RIGHTS'],
    [
      ...people.map(({ email, name, since, rights }) => [
        email,
        printable(name),
        localTime(since),
        rights.join(' '),
      ]),
      ...invitations.map(({ email, rights }) => [email, '', 'invited', rights.join(' ')]),
    ],
  );
}

async function listRights(server: string | undefined, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = server === undefined ? await anyServer(client) : await findUuid(client, server);
  const { rights } = (await client.listServerPeople({ slice })).data;
  if (options.json === true) {
    printJson(rights);
    return;
  }
  await printTable(
    ['GROUP', 'RIGHT', 'WHAT IT LETS DO'],
    rights.map(({ group, right, description, own }) => [
      group,
      right,
      own ? description : `${description} (this key cannot give it)`,
    ]),
  );
}

async function anyServer(client: KeyClient): Promise<string> {
  const [first] = (await client.listGameServers()).data;
  if (first !== undefined) return first.uuid;
  throw failed('the key sees no server');
}

async function invite(
  server: string,
  email: string,
  rights: string[],
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { data } = await client.inviteToServer({ slice, body: { email, rights } });
  if (options.json === true) {
    printJson(data);
    return;
  }
  print(data.url);
  if (options.quiet === true) return;
  const mailed = data.mailed_to === null ? '' : ` It was mailed to ${data.mailed_to}.`;
  print(`Give it to ${email}. It works once, until ${localTime(data.expires_at)}.${mailed}`);
}

async function setRights(
  server: string,
  email: string,
  rights: string[],
  options: CallOptions,
): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { person } = await findPerson(client, slice, email);
  if (person === null) throw notThere(email);
  await client.setServerRights({ slice, person, body: { rights } });
  done(`${email} has these rights now.`, options);
}

async function removePerson(server: string, email: string, options: CallOptions): Promise<void> {
  const client = connect(options);
  const slice = await findUuid(client, server);
  const { person, invitation } = await findPerson(client, slice, email);
  if (person !== null) await client.removeFromServer({ slice, person });
  if (invitation !== null) await client.withdrawServerInvitation({ slice, invitation });
  if (person === null && invitation === null) throw notThere(email);
  done(
    person === null ? `The invitation of ${email} was withdrawn.` : `${email} was removed.`,
    options,
  );
}

function notThere(email: string): Error {
  return failed(
    `${email} has no rights to this server alone: "portcullis servers people list" shows who has`,
  );
}

async function findPerson(
  client: KeyClient,
  slice: string,
  email: string,
): Promise<{ readonly person: number | null; readonly invitation: number | null }> {
  const { people, invitations } = (await client.listServerPeople({ slice })).data;
  const isIt = (one: { readonly email: string }): boolean =>
    one.email.toLowerCase() === email.toLowerCase();
  return {
    person: people.find(isIt)?.id ?? null,
    invitation: invitations.find(isIt)?.id ?? null,
  };
}

function done(message: string, options: CallOptions): void {
  if (options.json === true) printJson({ done: true }, { message });
  else if (options.quiet !== true) print(message);
}
