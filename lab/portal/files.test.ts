import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { skipUnless } from '../requirements.ts';
import { createInternet } from '../stack/internet.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { eventually } from '../system/stack-fixture.ts';
import {
  openDoor,
  type PortalBrowser,
  renewAfterFailure,
  requireNoSidewaysScroll,
  SCHEMES,
  seriousFindings,
  startPortalBrowser,
  takeBack,
  type Visit,
  waitForFocus,
} from './browser.ts';
import { GAME, PORTAL_FILES, PORTAL_FLEET, WITH_GAMES } from './fleet.ts';
import { acceptLink, ADA, callAs, PASSWORD, readAs } from './people.ts';

const NEEDS = ['root', 'netns', 'nft', 'postgres', 'chromium'] as const;
const LARGE_BYTES = 9 * 1024 * 1024 + 1;
const PROPERTIES = 'motd=Hello\r\nmax-players=20\r\nlevel-name=world\r\n';
/** Opens the menu and leaves it before a frame is drawn, as quick hands do on a slow machine. */
const MENU_AND_ESCAPE = `(async () => {
  for (const init of [{ key: 'F10', shiftKey: true }, { key: 'Escape' }]) {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true }));
    await null;
  }
})()`;
/** Opens the dialog of permissions by its item of the menu, and has the table delete everything before a frame is drawn. */
const DIALOG_AND_DELETE = `(async () => {
  const items = [...document.querySelectorAll('[role=menuitem]')];
  items.find(({ textContent }) => textContent.includes('Permissions…')).click();
  await null;
  const table = document.querySelector('.files-table');
  for (const init of [{ key: 'a', ctrlKey: true }, { key: 'Delete' }]) {
    table.dispatchEvent(new KeyboardEvent('keydown', { ...init, bubbles: true }));
    await null;
  }
})()`;
const FILES = `/organisations/acme/x1/game-servers/${GAME.uuid}/files`;

describe('the files of a game server in a browser', { skip: skipUnless(NEEDS) }, () => {
  let stack: Stack;
  let browser: PortalBrowser;
  /** An operator who acts for the organisation of the server. */
  let ada: Visit;
  const undo: (() => Promise<void> | void)[] = [];

  before(async () => {
    const internet = createInternet('files');
    undo.push(() => internet.destroy());
    const door = await openDoor('localhost');
    undo.push(() => door.close());
    stack = await startStack(internet, {
      fleet: PORTAL_FLEET,
      files: PORTAL_FILES,
      args: [...WITH_GAMES, '--public-url', door.url],
    });
    undo.push(() => stack.stop());
    browser = await startPortalBrowser(stack, door);
    undo.push(() => browser.stop());
    ada = await browser.open('light');
    await ada.act(ADA, 'acme');
    await eventually('the server is built', async () => {
      const { body } = await stack.api.call('GET', `/api/v1/game-servers/${GAME.uuid}`);
      return (body as { data: { provisioned: boolean } }).data.provisioned;
    });
  });
  after(async () => {
    for (const step of undo.toReversed()) await step();
  });
  renewAfterFailure(() => [ada]);

  const api = (path: string) => `${browser.url}/api/portal${FILES}${path}`;

  async function write(path: string, content: string): Promise<void> {
    const target = api(`/content?path=${encodeURIComponent(path)}`);
    const { status, body } = await callAs(ada, target, 'PUT', { content });
    assert.equal(status, 200, JSON.stringify(body));
  }

  const read = (path: string): Promise<Buffer> =>
    readAs(ada, api(`/content?raw=true&path=${encodeURIComponent(path)}`));

  async function visit({ page }: Pick<Visit, 'page'>, place = ''): Promise<void> {
    await page.goto(`${browser.url}/servers/${GAME.uuid}?tab=files${place}`);
    await page.getByRole('navigation', { name: 'Where you are' }).waitFor();
  }

  const row = (page: Page, name: string) =>
    page.getByRole('grid').getByRole('row', { name: new RegExp(`^Choose ${name} `) });

  /** The accessible name of a row begins with its checkbox. */
  async function choose(page: Page, name: string): Promise<void> {
    await page.getByRole('checkbox', { name: `Choose ${name}` }).check();
  }

  it('uploads a folder of plugins, a large file among them, every byte of it', async () => {
    const local = mkdtempSync(join(tmpdir(), 'plugins-'));
    const large = Buffer.alloc(LARGE_BYTES, 'portcullis ');
    try {
      const plugins = join(local, 'plugins');
      mkdirSync(join(plugins, 'Maps', 'data'), { recursive: true });
      writeFileSync(join(plugins, 'maps.jar'), large);
      writeFileSync(join(plugins, 'empty.yml'), '');
      for (let index = 0; index < 12; index += 1)
        writeFileSync(join(plugins, 'Maps', 'data', `tile-${index}.yml`), `tile: ${index}\n`);
      await visit(ada);
      await ada.page.locator('input[webkitdirectory]').setInputFiles(plugins);
      await ada.page.getByText('Uploaded 14 of 14 files').waitFor();
      await ada.page.getByRole('button', { name: 'plugins', exact: true }).click();
      await row(ada.page, 'maps.jar').waitFor();
      await ada.page.getByRole('button', { name: 'Maps', exact: true }).click();
      await ada.page.getByRole('button', { name: 'data', exact: true }).click();
      await row(ada.page, 'tile-11.yml').waitFor();
      assert.ok((await read('plugins/maps.jar')).equals(large));
      assert.equal((await read('plugins/empty.yml')).length, 0);
      // Again: nothing is replaced without consent.
      await visit(ada);
      await ada.page.locator('input[webkitdirectory]').setInputFiles(plugins);
      await ada.page.getByRole('dialog', { name: 'One name is there already' }).waitFor();
      await ada.page.getByRole('button', { name: 'Skip these' }).click();
      await ada.page.getByRole('dialog').waitFor({ state: 'detached' });
    } finally {
      rmSync(local, { recursive: true });
    }
    assert.deepEqual(ada.faults, []);
  });

  it('takes a folder that is dropped from the desktop, and moves what is dragged to a folder', async () => {
    const local = mkdtempSync(join(tmpdir(), 'mods-'));
    mkdirSync(join(local, 'mods', 'deep', 'empty'), { recursive: true });
    writeFileSync(join(local, 'mods', 'deep', 'b.yml'), 'b: 1\n');
    await write('drag/target/there.txt', 'there\n');
    await write('drag/moved.txt', 'moved\n');
    await visit(ada, '&path=drag');
    const { page } = ada;
    const devtools = await page.context().newCDPSession(page);
    try {
      const { x, y } = (await row(page, 'moved.txt').boundingBox()) ?? assert.fail('no row');
      const files = [join(local, 'mods')];
      const data = { items: [], files, dragOperationsMask: 1 };
      for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
        await devtools.send('Input.dispatchDragEvent', { type, x: x + 200, y: y + 9, data });
      await page.getByText('Uploaded 1 of 1 file', { exact: true }).waitFor();
    } finally {
      await devtools.detach();
      rmSync(local, { recursive: true });
    }
    await row(page, 'mods').waitFor();
    assert.equal(String(await read('drag/mods/deep/b.yml')), 'b: 1\n');
    await eventually('the empty folder is there too', async () => {
      const { body } = await callAs(ada, api('?path=drag%2Fmods%2Fdeep'));
      const names = (body as { data: { name: string }[] }).data.map(({ name }) => name);
      return names.join() === 'empty,b.yml';
    });
    await row(page, 'moved.txt').dragTo(row(page, 'target'));
    await row(page, 'moved.txt').waitFor({ state: 'detached' });
    assert.equal(String(await read('drag/target/moved.txt')), 'moved\n');
    assert.deepEqual(ada.faults, []);
  });

  it('edits server.properties, and keeps its line endings', async () => {
    await write('server.properties', PROPERTIES);
    await visit(ada);
    const { page } = ada;
    await page.getByRole('button', { name: 'server.properties', exact: true }).click();
    const editor = page.getByRole('textbox', { name: /^server\.properties/ });
    await editor.getByText('max-players=20').click();
    await page.keyboard.press('End');
    await page.keyboard.type('0');
    await page.getByText('Not saved', { exact: true }).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByText('Saved', { exact: true }).waitFor();
    assert.equal(String(await read('server.properties')), PROPERTIES.replace('=20', '=200'));
    // The letters of the page's own keys are the editor's while somebody types.
    await page.keyboard.type('g?/');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByRole('button', { name: 'Back to the folder' }).click();
    await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor();
    await page.getByRole('button', { name: 'Leave', exact: true }).click();
    await row(page, 'server.properties').waitFor();
    assert.deepEqual(ada.faults, []);
  });

  it('shows two people who edit one file what the other changed, before anything is lost', async () => {
    await write('server.properties', PROPERTIES);
    await visit(ada, '&file=server.properties');
    const { page } = ada;
    const editor = page.getByRole('textbox', { name: /^server\.properties/ });
    await editor.getByText('motd=Hello').click();
    await page.keyboard.press('End');
    await page.keyboard.type(' from Ada');
    await write('server.properties', PROPERTIES.replace('=20', '=50'));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/was changed since you opened it/).waitFor();
    const theirs = page.getByRole('textbox', { name: 'The file as it is now' });
    await theirs.getByText('max-players=50').waitFor();
    const mine = page.getByRole('textbox', { name: 'Your text' });
    await mine.getByText('motd=Hello from Ada').waitFor();
    await page.getByText('Their changes', { exact: true }).click();
    await page.getByRole('textbox', { name: 'The file as you opened it' }).waitFor();
    assert.equal(String(await read('server.properties')), PROPERTIES.replace('=20', '=50'));
    await page.getByText('Compare', { exact: true }).click();
    await mine.getByText('max-players=20').click();
    await page.keyboard.press('End');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.type('50');
    ada.takeFaults();
    await page.getByRole('button', { name: 'Save mine' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    assert.equal(
      String(await read('server.properties')),
      PROPERTIES.replace('Hello', 'Hello from Ada').replace('=20', '=50'),
    );
    assert.deepEqual(ada.faults, []);
  });

  it('is used by keys alone: rename, delete, undo, into a folder and back', async () => {
    await write('keys/one.txt', 'one\n');
    await write('keys/two.txt', 'two\n');
    await visit(ada);
    const { page } = ada;
    await row(page, 'keys').waitFor();
    const grid = page.getByRole('grid');
    await grid.focus();
    await grid.press('Home');
    while (!(await row(page, 'keys').getAttribute('aria-selected'))?.includes('true'))
      await grid.press('ArrowDown');
    await grid.press('Enter');
    await row(page, 'one.txt').waitFor();
    await grid.focus();
    await grid.press('Home');
    await grid.press('Shift+F10');
    await page.getByRole('menuitem', { name: 'Copy the path' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('menu').waitFor({ state: 'detached' });
    assert.ok(await grid.evaluate((element) => element === element.ownerDocument.activeElement));
    await page.evaluate(MENU_AND_ESCAPE);
    await page.getByRole('menu').waitFor({ state: 'detached' });
    await page.getByText('1 chosen').waitFor();
    await grid.press('F2');
    const name = page.getByRole('textbox', { name: 'New name of one.txt' });
    await name.waitFor();
    await page.keyboard.type('first');
    await name.press('Enter');
    await row(page, 'first.txt').waitFor();
    await grid.focus();
    await grid.press('Control+a');
    await page.getByText('2 chosen').waitFor();
    await grid.press('Delete');
    await takeBack(page, /Moved 2 items to the bin/);
    assert.equal(String(await read('keys/two.txt')), 'two\n');
    await row(page, 'two.txt').waitFor();
    await grid.focus();
    await grid.press('Backspace');
    await row(page, 'keys').waitFor();
    assert.deepEqual(ada.faults, []);
  });

  it('moves, packs, unpacks, finds, restores and measures', async () => {
    await write('box/inner/deep.yml', 'needle: in a haystack\n');
    await write('box/note.txt', 'note\n');
    await visit(ada, '&path=box');
    const { page } = ada;
    await choose(page, 'note.txt');
    await page.getByRole('button', { name: 'Move what is chosen' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('box', { exact: true }).click();
    await dialog.getByText('inner', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Move here' }).click();
    await row(page, 'note.txt').waitFor({ state: 'detached' });
    await row(page, 'inner').click({ button: 'right' });
    await page.getByRole('menuitem', { name: 'Pack into an archive…' }).click();
    await dialog.getByLabel('Name').fill('packed');
    await dialog.getByRole('button', { name: 'Pack', exact: true }).click();
    await page.getByRole('button', { name: 'Menu of packed.zip' }).click();
    await page.getByRole('menuitem', { name: 'Unpack to “packed”' }).click();
    await row(page, 'packed').waitFor();
    // The folder is there before what is in it.
    await eventually('the archive is unpacked', async () => {
      const path = encodeURIComponent('box/packed/inner/note.txt');
      const reply = await page.request.get(api(`/content?raw=true&path=${path}`));
      return reply.ok() && (await reply.text()) === 'note\n';
    });

    await page.getByRole('button', { name: 'Search files' }).click();
    await page.getByText('Text', { exact: true }).click();
    await page.getByLabel('A part of a line').fill('haystack');
    await page.getByText('1: needle: in a haystack').first().waitFor();
    await page.getByRole('button', { name: 'Close the search' }).click();

    await choose(page, 'packed.zip');
    await page.getByRole('button', { name: 'Delete what is chosen' }).click();
    await row(page, 'packed.zip').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Bin', exact: true }).click();
    await page.getByRole('button', { name: 'Restore box/packed.zip' }).click();
    await page.getByRole('button', { name: 'Close the bin' }).click();
    await row(page, 'packed.zip').waitFor();

    await page.getByRole('button', { name: 'What takes the disk' }).click();
    await page.getByRole('meter', { name: 'Disk use of packed.zip' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Close the disk use' }).click();
    await choose(page, 'inner');
    await page.getByRole('button', { name: 'Download what is chosen' }).click();
    assert.equal((await download).suggestedFilename(), 'inner.zip');
    assert.deepEqual(ada.faults, []);
  });

  it('shows permissions, and sets those of one or several, by boxes or digits, with an undo', async () => {
    await write('modes/run.sh', 'echo\n');
    await write('modes/note.txt', 'note\n');
    const { page } = ada;
    const isMode = (name: string, mode: string) =>
      row(page, name).getByRole('gridcell', { name: mode, exact: true }).waitFor();
    const dialog = page.getByRole('dialog');
    const digits = dialog.getByLabel('Mode');
    const submit = dialog.getByRole('button', { name: 'Set permissions' });
    await visit(ada, '&path=modes');
    await isMode('run.sh', '644');
    await page.getByRole('button', { name: 'Menu of run.sh' }).click();
    await page.getByRole('menuitem', { name: 'Permissions…' }).waitFor();
    await page.evaluate(DIALOG_AND_DELETE);
    // Nothing to do is no request.
    await waitForFocus(digits);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('8');
    await dialog.getByText('A mode is three digits').waitFor();
    assert.ok(await submit.isDisabled());
    await page.keyboard.press('Control+a');
    await page.keyboard.type('755');
    assert.ok(await dialog.getByRole('checkbox', { name: 'Others: Execute' }).isChecked());
    await page.keyboard.press('Enter');
    await isMode('run.sh', '755');

    await choose(page, 'note.txt');
    await choose(page, 'run.sh');
    await page.getByRole('button', { name: 'Set permissions of what is chosen' }).click();
    await dialog.getByText('Boxes with a dash differ').waitFor();
    await waitForFocus(digits);
    assert.equal(await digits.inputValue(), '');
    await dialog.getByRole('checkbox', { name: 'Others: Read' }).focus();
    await page.keyboard.press('Space');
    await submit.click();
    // A toast stays as long as the pointer is on it.
    await page.getByText('Changed the permissions of 2 items').hover();
    await isMode('run.sh', '751');
    await isMode('note.txt', '640');
    await takeBack(page, /permissions of 2 items/);
    await isMode('run.sh', '755');
    await isMode('note.txt', '644');
    assert.deepEqual(ada.faults, []);
  });

  it('follows a log, shows an image, and says what is no text', async () => {
    await write('logs/latest.log', 'first line\n');
    await visit(ada, '&path=logs&file=logs%2Flatest.log');
    const { page } = ada;
    const log = page.getByRole('log', { name: 'latest.log' });
    await log.getByText('first line').waitFor();
    await write('logs/latest.log', 'first line\nsecond line\n');
    await log.getByText('second line').waitFor();
    const icon =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    for (const [name, content] of [
      ['server-icon.png', icon],
      ['world.dat', 'H4sIAP8='],
    ] as const) {
      const target = api(`/content?path=${name}`);
      const { status } = await callAs(ada, target, 'PUT', { content, encoding: 'base64' });
      assert.equal(status, 200);
    }
    await visit(ada, '&file=server-icon.png');
    await page.getByRole('img', { name: 'server-icon.png' }).waitFor();
    await visit(ada, '&file=world.dat');
    await page.getByText('This file is no text').waitFor();
    assert.deepEqual(ada.faults, []);
  });

  it('fetches nothing from an address that is not public, and says so', async () => {
    await visit(ada);
    const { page } = ada;
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('menuitem', { name: 'From a web address' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Address').fill('http://127.0.0.1:8080/map.zip');
    await dialog.getByRole('button', { name: 'Fetch', exact: true }).click();
    await dialog.getByText(/only public addresses/).waitFor();
    await page.keyboard.press('Escape');
    const faults = ada.takeFaults();
    assert.ok(
      faults.every((fault) => /status of 422\b/.test(fault)),
      faults.join(),
    );
  });

  async function inviteFriend(email: string, rights: readonly string[]): Promise<Visit> {
    const people = `${browser.url}/api/portal/organisations/acme/x1/game-servers/${GAME.uuid}/people`;
    const { status, body } = await callAs(ada, people, 'POST', { email, rights });
    assert.equal(status, 201, JSON.stringify(body));
    const { url } = (body as { data: { url: string } }).data;
    const friend = await acceptLink(
      browser,
      url,
      { name: 'Friend', password: PASSWORD },
      'Game servers',
    );
    // The list of servers asks for more than a guest may see; once it is left, no answer to it can come.
    await friend.page.goto('about:blank');
    friend.takeFaults();
    return friend;
  }

  it('tells a friend without rights to files why nothing is shown, and one who may read why nothing can be changed', async () => {
    await write('server.properties', PROPERTIES);
    const restarter = await inviteFriend('restarter@example.net', ['control.restart']);
    await restarter.page.goto(`${browser.url}/servers/${GAME.uuid}?tab=files`);
    await restarter.page.getByText('You may not see the files of this server').waitFor();
    await restarter.page.getByText(/You lack the right “file\.read”/).waitFor();
    assert.deepEqual(restarter.faults, []);
    await restarter.close();

    const reader = await inviteFriend('reader@example.net', ['file.read', 'file.read-content']);
    const { page } = reader;
    await visit(reader);
    await page.getByRole('button', { name: 'Upload', exact: true }).hover();
    await page.getByRole('tooltip', { name: /You lack the right “file\.create”/ }).waitFor();
    await page.getByRole('button', { name: 'Menu of server.properties' }).click();
    for (const name of [/^Delete.*file\.delete/, /^Permissions….*file\.update/])
      await page.getByRole('menuitem', { name }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'server.properties', exact: true }).click();
    await page.getByText('max-players=20').click();
    await page.keyboard.type('9');
    await page.getByText('max-players=20', { exact: true }).waitFor();
    await page
      .getByText(/You lack the right “file\.update”/)
      .first()
      .waitFor();
    assert.deepEqual(reader.faults, []);
    await reader.close();
  });

  for (const scheme of SCHEMES) {
    it(`has no serious finding of axe and no sideways scroll, also on a phone, ${scheme}`, async () => {
      await write('server.properties', PROPERTIES);
      await write('logs/latest.log', 'a line\n');
      const { page } = ada;
      await page.emulateMedia({ colorScheme: scheme });
      const found: string[] = [];
      const look = async (where: string): Promise<void> => {
        await page.getByRole('status', { name: 'Loading' }).waitFor({ state: 'detached' });
        for (const finding of await seriousFindings(page)) found.push(`${where}: ${finding}`);
        await page.setViewportSize({ width: 360, height: 740 });
        await requireNoSidewaysScroll(page);
        for (const finding of await seriousFindings(page))
          found.push(`${where}, phone: ${finding}`);
        await page.setViewportSize({ width: 1280, height: 800 });
      };
      await visit(ada);
      await choose(page, 'server.properties');
      await look('a folder');
      await page.getByRole('button', { name: 'Menu of server.properties' }).click();
      await page.getByRole('menuitem', { name: 'Rename' }).waitFor();
      await look('the menu');
      // A menu that a new width moves is no place to press.
      await page.keyboard.press('Escape');
      await page.getByRole('menu').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Menu of server.properties' }).click();
      await page.getByRole('menuitem', { name: 'Permissions…' }).click();
      await page.getByRole('dialog').getByLabel('Mode').waitFor();
      await look('the permissions');
      await page.keyboard.press('Escape');
      for (const view of ['Search files', 'What takes the disk', 'Bin']) {
        await page.getByRole('button', { name: view, exact: true }).click();
        await look(view);
      }
      for (const file of ['server.properties', 'logs/latest.log']) {
        await visit(ada, `&file=${encodeURIComponent(file)}`);
        await look(file);
      }
      assert.deepEqual(found, []);
      assert.deepEqual(ada.faults, []);
    });
  }
});
