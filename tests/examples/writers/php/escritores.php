<?php
// Writes a notification for each instant with each of PHP's lines in docs/drivers.md: php escritores.php ENTITY INSTANT…
// A row's clave is the line's name and the instant. Eloquent is that of Debian (php-laravel-framework).

require 'Illuminate/autoload.php';

class Aviso extends Illuminate\Database\Eloquent\Model
{
    protected $table = 'notificaciones_pendientes';
    public $timestamps = false;
    protected $guarded = [];
    protected $casts = ['ocurrida_en' => 'datetime'];
    protected $dateFormat = 'Y-m-d H:i:s.v'; // without it, milliseconds are lost
}

function inLocalZone(string $text): DateTimeImmutable
{
    return (new DateTimeImmutable($text))->setTimezone(new DateTimeZone(date_default_timezone_get()));
}

function tellIsolation(string $name, PDO $connection): void
{
    $rows = $connection->query("SHOW VARIABLES WHERE Variable_name IN ('tx_isolation', 'transaction_isolation')")->fetchAll();
    echo "isolation $name {$rows[0][1]}\n";
}

function writeWithPdo(string $entity, array $instants): void
{
    $connection = new PDO(getenv('EVALUACION_DSN'), 'evaluacion', getenv('EVALUACION_CONTRASENA'), [
        PDO::MYSQL_ATTR_INIT_COMMAND => 'SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED']);
    tellIsolation('PDO', $connection);
    $row = $connection->prepare("INSERT INTO notificaciones_pendientes (entidad_id, evento, datos, ocurrida_en, clave)
                                 VALUES (?, 'incidencia.cerrada', '{}', ?, ?)");
    $call = $connection->prepare("CALL avisar_con_hora(?, 'incidencia.cerrada', '{}', ?, ?)");
    foreach ($instants as $text) {
        $fecha = inLocalZone($text);
        $ocurrida = $fecha->setTimezone(new DateTimeZone('UTC'))->format('Y-m-d H:i:s.v');
        $row->execute([$entity, $ocurrida, "PDO $text"]);
        $call->execute([$entity, "PDO avisar_con_hora $text", $fecha->format(DATE_RFC3339_EXTENDED)]);
        $call->closeCursor();
    }
}

function writeWithEloquent(string $entity, array $instants): void
{
    $manager = new Illuminate\Database\Capsule\Manager();
    $manager->addConnection([
        'driver' => 'mysql', 'unix_socket' => getenv('EVALUACION_SOCKET'), 'database' => getenv('EVALUACION_BASE'),
        'username' => 'evaluacion', 'password' => getenv('EVALUACION_CONTRASENA'), 'charset' => 'utf8mb4',
        'collation' => 'utf8mb4_bin', 'isolation_level' => 'READ COMMITTED']);
    $manager->bootEloquent();
    tellIsolation('Eloquent', $manager->getConnection()->getPdo());
    foreach ($instants as $text) {
        $fecha = Illuminate\Support\Carbon::instance(inLocalZone($text));
        $aviso = new Aviso(['entidad_id' => $entity, 'evento' => 'incidencia.cerrada', 'datos' => '{}']);
        $aviso->ocurrida_en = $fecha->utc();
        $aviso->clave = "Eloquent $text";
        $aviso->save();
    }
}

$entity = $argv[1];
$instants = array_slice($argv, 2);
writeWithPdo($entity, $instants);
writeWithEloquent($entity, $instants);
