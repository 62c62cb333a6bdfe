import type { Command } from 'commander';
import { withCallOptions } from '../../../options.ts';
import { archiveFiles, cancelJob, listJobs, pullFile, unpackFile } from './archive.ts';
import { binFiles, emptyBin, restoreFiles } from './bin.ts';
import { chmodFiles, copyFile, makeFolder, moveFiles, removeFiles } from './change.ts';
import { editFile } from './content.ts';
import { getFile } from './get.ts';
import { diskUse, findFiles, listFiles } from './look.ts';
import { putFile } from './put.ts';

export function addFiles(servers: Command): void {
  const files = servers
    .command('files')
    .description('the files of a server')
    .addHelpText(
      'after',
      `
Paths are relative to the folder of the server. Deleted files stay in its bin for seven days.

  portcullis servers files ls Survival plugins
  portcullis servers files get Survival server.properties
  portcullis servers files put Survival map.jar plugins/map.jar
  portcullis servers files put Survival ./plugins plugins
  portcullis servers files get Survival world ./world
  portcullis servers files edit Survival server.properties
  portcullis servers files mv Survival plugins/map.jar old/map.jar
  portcullis servers files rm Survival logs/latest.log
  portcullis servers files archive Survival backups/world.tar.zst world
  portcullis servers files find Survival --text max-players
  portcullis servers files pull Survival https://example.net/map.jar plugins/map.jar

The key needs the ability game-servers.files.`,
    );
  addLooks(files);
  addContent(files);
  addChanges(files);
  addArchives(files);
  addBin(files);
}

function addLooks(files: Command): void {
  withCallOptions(
    files.command('ls').description('list a folder').argument('<server>').argument('[path]'),
  )
    .option('--sort <by>', 'name, size or modified', 'name')
    .option('--reverse', 'the other way round')
    .action(listFiles);
  withCallOptions(
    files
      .command('find')
      .description('search by name or text')
      .argument('<server>')
      .argument('[path]'),
  )
    .option('--name <pattern>', 'a part of the name, or a pattern with * and ?')
    .option('--text <text>', 'a part of a line')
    .action(findFiles);
  withCallOptions(
    files
      .command('du')
      .description('disk use of a folder, by what is in it')
      .argument('<server>')
      .argument('[path]'),
  ).action(diskUse);
}

function addContent(files: Command): void {
  withCallOptions(
    files
      .command('get')
      .description('download a file, or a folder with all that is in it')
      .argument('<server>')
      .argument('<path>')
      .argument('[file]', 'where to write it; without it, a file goes to standard output'),
  )
    .option('--resume', 'go on with what an earlier download left (default)')
    .option('--no-resume', 'begin anew')
    .action(getFile);
  withCallOptions(
    files
      .command('put')
      .description('upload a file, or a folder with all that is in it')
      .argument('<server>')
      .argument('<file>', 'a local file or folder, or - for standard input')
      .argument('<path>', 'its path there; a file keeps its name below one that ends in /'),
  )
    .option('--resume', 'go on with what an earlier upload left (default)')
    .option('--no-resume', 'begin anew')
    .action(putFile);
  withCallOptions(
    files
      .command('edit')
      .description('edit a file with $EDITOR; refused if it changed meanwhile')
      .argument('<server>')
      .argument('<path>'),
  ).action(editFile);
}

function addChanges(files: Command): void {
  withCallOptions(
    files
      .command('rm')
      .description('delete files and folders')
      .argument('<server>')
      .argument('<paths...>'),
  )
    .option('--permanently', 'not to the bin, but for good')
    .action(removeFiles);
  withCallOptions(
    files
      .command('mv')
      .description('move or rename a file or folder')
      .argument('<server>')
      .argument('<from>')
      .argument('<to>'),
  )
    .option('--replace', 'what is there goes to the bin')
    .action(moveFiles);
  withCallOptions(
    files
      .command('cp')
      .description('copy a file or folder')
      .argument('<server>')
      .argument('<from>')
      .argument('<to>'),
  ).action(copyFile);
  withCallOptions(
    files.command('mkdir').description('make a folder').argument('<server>').argument('<path>'),
  ).action(makeFolder);
  withCallOptions(
    files
      .command('chmod')
      .description('set permissions, such as 755')
      .argument('<server>')
      .argument('<mode>')
      .argument('<paths...>'),
  ).action(chmodFiles);
}

function addArchives(files: Command): void {
  withCallOptions(
    files
      .command('archive')
      .description('make an archive; its name says which: .zip, .tar, .tar.gz or .tar.zst')
      .argument('<server>')
      .argument('<archive>')
      .argument('<paths...>'),
  ).action(archiveFiles);
  withCallOptions(
    files
      .command('unpack')
      .description('unpack an archive: zip, tar, gz, zst, 7z, rar, xz or bz2')
      .argument('<server>')
      .argument('<archive>')
      .argument('[folder]', 'where to; without it, the folder of the server'),
  ).action(unpackFile);
  withCallOptions(
    files
      .command('pull')
      .description('fetch a file from a URL to the server')
      .argument('<server>')
      .argument('<url>', 'http or https, of a public address')
      .argument('[path]', 'where to; without it, the name in the URL, in the folder of the server'),
  )
    .option('--replace', 'replace a file that is there')
    .action(pullFile);
  withCallOptions(
    files.command('jobs').description('list long operations').argument('<server>'),
  ).action(listJobs);
  withCallOptions(
    files
      .command('cancel')
      .description('cancel a long operation')
      .argument('<server>')
      .argument('<job>', 'its id, as jobs lists them'),
  ).action(cancelJob);
}

function addBin(files: Command): void {
  withCallOptions(
    files.command('bin').description('list deleted files').argument('<server>'),
  ).action(binFiles);
  withCallOptions(
    files
      .command('restore')
      .description('move deleted files back')
      .argument('<server>')
      .argument('<ids...>', 'as the bin lists them'),
  ).action(restoreFiles);
  withCallOptions(
    files
      .command('empty')
      .description('remove deleted files for good')
      .argument('<server>')
      .argument('[ids...]', 'as the bin lists them; without them, all'),
  ).action(emptyBin);
}
