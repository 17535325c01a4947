<?php
// El sistema de evaluación avisa de que se ha abierto una evaluación, y después mira qué fue de los avisos.
//
//   apt install php-cli php-mysql
//   php evaluacion.php abrir 42 'Convocatoria 2026' 7 8 9      la evaluación 42, a las entidades 7, 8 y 9
//   php evaluacion.php abrir-lote 42 'Convocatoria 2026' 7 8 9 lo mismo, con una sentencia para todas
//   php evaluacion.php ver 42
//
// Se conecta a EVALUACION_DSN, como «mysql:host=localhost;dbname=apientidades;charset=utf8mb4», con EVALUACION_USUARIO y
// EVALUACION_CONTRASENA (vacía, si el servidor reconoce al usuario por el socket). Sin charset=utf8mb4 las eñes y los emojis
// llegan estropeados.

function obligatoria(string $nombre): string
{
    $valor = getenv($nombre);
    if ($valor === false) {
        fwrite(STDERR, "falta $nombre: póngala como dicen las primeras líneas de evaluacion.php\n");
        exit(1);
    }
    return $valor;
}

function conectar(): PDO
{
    $usuario = getenv('EVALUACION_USUARIO') ?: 'evaluacion';
    $conexion = new PDO(obligatoria('EVALUACION_DSN'), $usuario, obligatoria('EVALUACION_CONTRASENA'));
    // Sin el modo estricto, un valor que no cabe se cambia por otro sin avisar.
    $conexion->exec("SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'");
    // Con el nivel de aislamiento de serie, una transacción abierta puede retrasar los avisos de todas las entidades.
    $conexion->exec('SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED');
    return $conexion;
}

// Una fila por entidad. Si la clave ya se usó, esta entidad ya está avisada: un proceso que se repite no avisa dos veces.
function avisar(PDO $conexion, string $entidad, string $evento, array $datos, string $clave): void
{
    $llamada = $conexion->prepare('CALL avisar(?, ?, ?, ?)');
    $llamada->execute([$entidad, $evento, json_encode($datos, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR), $clave]);
    $fila = $llamada->fetch(PDO::FETCH_ASSOC);
    $llamada->closeCursor(); // una llamada da dos resultados: la fila y el final
    if ($fila['conocida']) {
        echo "entidad $entidad: ya estaba avisada\n";
    }
}

// Todo en una transacción: si algo falla no se abre la evaluación, ni se avisa a nadie.
function enTransaccion(PDO $conexion, callable $hacer): void
{
    $conexion->beginTransaction();
    try {
        $hacer();
        $conexion->commit();
    } catch (Throwable $error) {
        $conexion->rollBack();
        throw $error;
    }
}

function abrir(PDO $conexion, int $evaluacion, string $titulo, array $entidades): void
{
    enTransaccion($conexion, function () use ($conexion, $evaluacion, $titulo, $entidades) {
        // Aquí van los cambios de su programa: UPDATE mis_evaluaciones SET estado = 'abierta' WHERE id = …
        foreach ($entidades as $entidad) {
            $datos = ['evaluacionId' => $evaluacion, 'titulo' => $titulo];
            avisar($conexion, $entidad, 'evaluacion.abierta', $datos, "abierta-$evaluacion");
        }
    });
}

// Todos en una sentencia. Uno que se rechazaría no se escribe, y no impide los demás. Como mucho 10.000 en cada transacción.
function avisarLote(PDO $conexion, array $avisos): void
{
    usort($avisos, fn($uno, $otro) => $uno['entidad_id'] <=> $otro['entidad_id']); // así dos procesos no se bloquean uno a otro
    $llamada = $conexion->prepare('CALL avisar_lote(?)');
    $llamada->execute([json_encode($avisos, JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR)]);
    $resultados = json_decode($llamada->fetchColumn(), true, 512, JSON_THROW_ON_ERROR);
    $llamada->closeCursor();
    foreach ($avisos as $i => $aviso) {
        if (isset($resultados[$i]['conocida'])) {
            echo "entidad {$aviso['entidad_id']}: ya estaba avisada\n";
        } elseif (isset($resultados[$i]['motivo'])) {
            echo "entidad {$aviso['entidad_id']}: no se la avisa; {$resultados[$i]['motivo']}\n";
        }
    }
}

function abrirLote(PDO $conexion, int $evaluacion, string $titulo, array $entidades): void
{
    // En el lote, `datos` es un texto.
    $datos = json_encode(['evaluacionId' => $evaluacion, 'titulo' => $titulo], JSON_UNESCAPED_UNICODE | JSON_THROW_ON_ERROR);
    $avisos = array_map(fn($entidad) => [
        'entidad_id' => (int) $entidad, 'evento' => 'evaluacion.abierta', 'datos' => $datos, 'clave' => "abierta-$evaluacion",
    ], $entidades);
    enTransaccion($conexion, function () use ($conexion, $avisos) {
        // Aquí van los cambios de su programa.
        avisarLote($conexion, $avisos);
    });
}

function ver(PDO $conexion, int $evaluacion): void
{
    $filas = $conexion->prepare(
        "SELECT entidad_id, estado, webhooks, entregadas, ultimo_error FROM notificaciones_resultado
         WHERE evento = 'evaluacion.abierta' AND ocurrida_en >= UTC_TIMESTAMP() - INTERVAL 30 DAY AND clave = ?
         ORDER BY entidad_id");
    $filas->execute(["abierta-$evaluacion"]);
    foreach ($filas as [$entidad, $estado, $webhooks, $entregadas, $error]) {
        echo "entidad $entidad: $estado, $entregadas de $webhooks entregadas", $error === null ? '' : "; $error", "\n";
    }
}

[, $orden, $evaluacion] = $argv;
if ($orden === 'abrir') {
    abrir(conectar(), (int) $evaluacion, $argv[3], array_slice($argv, 4));
} elseif ($orden === 'abrir-lote') {
    abrirLote(conectar(), (int) $evaluacion, $argv[3], array_slice($argv, 4));
} else {
    ver(conectar(), (int) $evaluacion);
}
