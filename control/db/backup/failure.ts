/** Why a backup cannot be made or restored, as the rest of a sentence about the file. Nothing was changed. */
export class Failure extends Error {
  override readonly name = 'Failure';
}
